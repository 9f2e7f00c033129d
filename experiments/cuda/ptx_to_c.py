"""Translation of PTX, what NVIDIA's compiler makes of a kernel, to C, so that a machine without a GPU can run it.

Only the instructions that occur in kernels of this project are known; any other raises `ValueError`. A register becomes
a variable of its width, a label stays a label, and a table becomes an array. The C function `run` calls the kernel for
each thread, one after the other. https://docs.nvidia.com/cuda/parallel-thread-execution
"""

import re

C_TYPES = {
    **{f"{kind}{size}": f"uint{size}_t" for kind in "ub" for size in (8, 16, 32, 64)},
    **{f"s{size}": f"int{size}_t" for size in (8, 16, 32, 64)},
    **{"f32": "float", "f64": "double", "pred": "int"},
}
_REGISTERS = {"pred": "int", "b16": "uint16_t", "b32": "uint32_t", "b64": "uint64_t", "f32": "float", "f64": "double"}
_WIDER = {"s16": "int32_t", "u16": "uint32_t", "s32": "int64_t", "u32": "uint64_t"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPPOSITES = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<", "equ": "!=", "neu": "=="}  # true also for NaN
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "div": "/",
    "rem": "%",
}
_PREFIXES = {"mov": "", "neg": "-", "not": "~", "cvta": ""}
_SPECIAL = {"%tid.x": "thread", "%ntid.x": "1", "%ctaid.x": "0"}  # all threads in one block, with a number each
_HEAD = """#include <stdint.h>
#include <string.h>
static float to_f32(uint32_t bits) { float value; memcpy(&value, &bits, 4); return value; }
static uint16_t from_f16(_Float16 value) { uint16_t bits; memcpy(&bits, &value, 2); return bits; }
static uint32_t from_f32(float value) { uint32_t bits; memcpy(&bits, &value, 4); return bits; }
static uint64_t from_f64(double value) { uint64_t bits; memcpy(&bits, &value, 8); return bits; }
static double to_f64(uint64_t bits) { double value; memcpy(&value, &bits, 8); return value; }
"""


def translate(ptx: str) -> str:
    """Return C code for a kernel in PTX: `run(arguments, first, last)` runs it for the threads first to last - 1.

    arguments: array of uint64_t with the kernel's arguments in their order.
    """
    tables = re.findall(r"^\.global .*?\.b8 (\S+)\[(\d+)\] = \{(.*?)\};", ptx, re.MULTILINE)
    head, body = ptx[ptx.index(".entry") :].split("{", 1)
    parameters = re.findall(r"\.param \.(\w+) (\S+?)[,\s]", head + "\n")
    lines = [f"static const uint8_t {_name(name)}[{size}] = {{{values}}};" for name, size, values in tables]
    lines.append("static void kernel(const uint64_t *arguments, uint32_t thread) {")
    numbers = {name: number for number, (_, name) in enumerate(parameters)}
    for line in body.rsplit("}", 1)[0].splitlines():
        lines += _translate_line(line.split("//")[0].strip(), numbers)
    lines += ["}", "void run(const uint64_t *arguments, uint32_t first, uint32_t last) {"]
    lines += ["  for (uint32_t thread = first; thread < last; thread++) kernel(arguments, thread);", "}"]
    return _HEAD + "\n".join(lines) + "\n"


def _translate_line(line: str, numbers: dict[str, int]) -> list[str]:
    if not line or line.startswith((".loc", ".pragma")):
        return []
    if line in "{}":
        return [line]
    if single := re.fullmatch(r"\.reg \.(\w+)\s+%(\w+);", line):
        return [f"  {_REGISTERS[single[1]]} {single[2]};"]
    if declared := re.fullmatch(r"\.reg \.(\w+)\s+%(\w+)<(\d+)>;", line):
        kind, name, count = declared.groups()
        return [f"  {_REGISTERS[kind]} " + ", ".join(f"{name}{k}" for k in range(int(count))) + ";"]
    if line.endswith(":"):
        return [f"{_name(line[:-1])}: ;"]
    condition = ""
    if guarded := re.match(r"@(!?)%(\w+)\s+", line):
        condition, line = f"if ({guarded[1]}{guarded[2]}) ", line[guarded.end() :]
    opcode, *operands = line.rstrip(";").split(maxsplit=1)
    statement = f"{_translate_instruction(opcode.split('.'), ''.join(operands), numbers)};"
    return [f"  {condition}{{ {statement} }}" if condition else f"  {statement}"]


def _translate_instruction(opcode: list[str], text: str, numbers: dict[str, int]) -> str:
    """Return an instruction as a statement of C. opcode: its parts, such as ["add", "s64"]. text: its operands."""
    name, kind = opcode[0], opcode[-1]
    operands = [part.strip() for part in text.split(",")]
    if name == "ret":
        return "return"
    if name == "bra":
        return f"goto {_name(operands[0])}"
    if name == "st":
        return f"*({C_TYPES[kind]} *)({_address(operands[0])}) = {_read(operands[1], kind)}"
    if "{" in text:
        return _translate_vector(opcode, text)
    if name == "mov" and kind in ("b32", "b64"):
        return f"{_name(operands[0])} = {_convert_bits(operands[1], _is_float(operands[0]), kind[1:])}"
    if name == "atom":
        return _translate_atomic(opcode, operands)
    return f"{_name(operands[0])} = {_compute(opcode, operands[1:], numbers)}"


def _compute(opcode: list[str], operands: list[str], numbers: dict[str, int]) -> str:
    """Return the value of an instruction with a result, as an expression of C."""
    name, kind = opcode[0], opcode[-1]
    if name == "ld":
        return _load(opcode, operands[0], numbers)
    values = [_read(operand, kind) for operand in operands]
    if name == "setp":
        return _compare(opcode[1], *values)
    if name == "selp":
        return f"{_name(operands[2])} ? {values[0]} : {values[1]}"
    if name == "cvt":
        return f"from_f16({values[0]})" if opcode[-2] == "f16" else f"({C_TYPES[opcode[-2]]}){values[0]}"
    if name in ("shl", "shr"):
        return _shift(name, kind, values[0], _read(operands[1], "u32"))
    if name == "bfi":
        return _insert_bits(*values[:2], *operands[2:])
    return _calculate(opcode, values)


def _load(opcode: list[str], place: str, numbers: dict[str, int]) -> str:
    """Return what an instruction loads: an argument of the kernel, or a value in memory."""
    kind = opcode[-1]
    if opcode[1] != "param":
        return f"*({C_TYPES[kind]} *)({_address(place)})"
    argument = f"arguments[{numbers[place.strip('[]')]}]"
    return f"to_{kind}({argument})" if kind.startswith("f") else f"({C_TYPES[kind]}){argument}"


def _compare(comparison: str, one: str, two: str) -> str:
    if comparison == "num":
        return f"{one} == {one} && {two} == {two}"
    if comparison in _OPPOSITES:
        return f"!({one} {_OPPOSITES[comparison]} {two})"
    return f"{one} {_COMPARISONS[comparison]} {two}"


def _shift(name: str, kind: str, value: str, amount: str) -> str:
    """Return a shifted value; in PTX a shift by the width or more gives 0, or only the sign."""
    over = f"{value} < 0 ? -1 : 0" if kind.startswith("s") else "0"
    return f"{amount} >= {kind[1:]} ? ({over}) : {value} {_OPERATORS[name]} {amount}"


def _insert_bits(bits: str, into: str, position: str, length: str) -> str:
    mask = f"((1ull << {length}) - 1)"
    return f"{into} & ~({mask} << {position}) | ({bits} & {mask}) << {position}"


def _calculate(opcode: list[str], values: list[str]) -> str:
    """Return the result of an arithmetic instruction, given its operands as values of its type."""
    name, kind = opcode[0], opcode[-1]
    c_type = C_TYPES[kind]
    if name == "mul":
        wide = _WIDER[kind] if "wide" in opcode else c_type
        return f"({wide}){values[0]} * ({wide}){values[1]}"
    if name in _OPERATORS:
        return f"({c_type})({values[0]} {_OPERATORS[name]} {values[1]})"
    if name == "not" and kind == "pred":
        return f"!{values[0]}"
    if name in _PREFIXES:
        return f"({c_type})({_PREFIXES[name]}{values[0]})"
    if name in ("min", "max"):
        return f"{values[0]} {'<' if name == 'min' else '>'} {values[1]} ? {values[0]} : {values[1]}"
    if name == "rcp":  # that of a GPU with `approx` is less exact; it only begins an iteration
        return f"1 / {values[0]}"
    if name in ("fma", "sqrt"):
        return f"__builtin_{name}{'f' if kind == 'f32' else ''}({', '.join(values)})"
    if name == "popc":
        return f"__builtin_popcountll({values[0]})"
    raise ValueError(f"the translation does not know the instruction {'.'.join(opcode)}")


def _translate_vector(opcode: list[str], text: str) -> str:
    """Return an instruction with a pair of registers, such as {%r1, %r2}, as statements of C; the pair is in memory."""
    kind, parts = opcode[-1], re.findall(r"[^\s{},]+", text)
    if opcode[0] == "ld":
        c_type, address = C_TYPES[kind], _address(parts[2])
        return "; ".join(f"{_name(part)} = (({c_type} *)({address}))[{k}]" for k, part in enumerate(parts[:2]))
    if text.startswith("{"):  # mov.b64 {low, high}, whole
        bits = _convert_bits(parts[2], False, "64")
        return f"{_name(parts[0])} = (uint32_t){bits}; {_name(parts[1])} = {bits} >> 32"
    whole = f"(uint64_t){_name(parts[2])} << 32 | (uint32_t){_name(parts[1])}"
    return f"{_name(parts[0])} = " + (f"to_f64({whole})" if _is_float(parts[0]) else whole)


def _is_float(register: str) -> bool:
    return register.startswith("%f")


def _convert_bits(operand: str, to_float: bool, size: str) -> str:
    """Return the bits of a register or constant as an integer, or as a floating-point number with these bits."""
    value = _read(operand, "b64") if not operand.startswith("%") else _name(operand)
    if _is_float(operand) == to_float:
        return value
    return f"{'to' if to_float else 'from'}_f{size}({value})"


def _translate_atomic(opcode: list[str], operands: list[str]) -> str:
    """Return an atomic instruction as a statement; threads run one after the other, so it needs no care."""
    kind, place = opcode[-1], f"*({C_TYPES[opcode[-1]]} *)({_address(operands[1])})"
    old, value = f"{_name(operands[0])} = {place}", _read(operands[2], kind)
    if opcode[-2] == "add":
        return f"{old}; {place} += {value}"
    if opcode[-2] == "min":
        return f"{old}; if ({value} < {place}) {place} = {value}"
    raise ValueError(f"the translation does not know the instruction {'.'.join(opcode)}")


def _read(operand: str, kind: str) -> str:
    """Return an operand as a value of a type of PTX, such as "s64"."""
    if operand in _SPECIAL:
        return _SPECIAL[operand]
    if hexadecimal := re.fullmatch(r"0([fd])([0-9A-Fa-f]+)", operand):
        return f"to_f{'32' if hexadecimal[1] == 'f' else '64'}(0x{hexadecimal[2]}ull)"
    if re.fullmatch(r"-?\d+", operand):
        return f"({C_TYPES[kind]}){operand}ll" if operand != str(-(2**63)) else "INT64_MIN"
    if operand.startswith("%"):
        return f"({C_TYPES[kind]}){_name(operand)}"
    return f"(uint64_t){_name(operand)}"  # the address of a table


def _address(operand: str) -> str:
    base, _, offset = operand.strip("[]").partition("+")
    return f"(uint64_t){_name(base)}" + (f" + ({offset})" if offset else "")


def _name(text: str) -> str:
    """Return the name in C of a register, a label or an array of PTX."""
    return re.sub(r"\W", "_", text.lstrip("%$"))
