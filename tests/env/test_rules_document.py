"""RULES.md and the citations of its numbers (R4.5, F2) agree both ways."""

import re
from pathlib import Path

from felicity_env.setups import standard_setup

ROOT = Path(__file__).resolve().parents[2]
RULES_FILE = ROOT / "felicity_env" / "RULES.md"
RULE = re.compile(r"^- \*\*([RF][0-9.a-z]+)\*\* (.+?)(?=^- \*\*|^#|^\||\Z)", re.MULTILINE | re.DOTALL)
CITATION = re.compile(r"\b(R[1-9]\.[0-9]+[a-z]?|R[1-9](?![.0-9]*[0-9])|F[1-9])\b")
CITING = ("felicity_env", "agents", "train", "experiments", "tests")
NUMBERS = [
    *(f"R1.{k}" for k in ("1", "2", "3", "3a")),
    *(
        f"R{section}.{k}"
        for section, last in ((2, 7), (3, 3), (4, 9), (5, 8), (6, 4), (7, 2), (8, 3))
        for k in range(1, last + 1)
    ),
    *(f"F{k}" for k in range(1, 6)),
]


def rules() -> dict[str, str]:
    """Return the text of each rule by its number."""
    return dict(RULE.findall(RULES_FILE.read_text()))


def citations(text: str) -> set[str]:
    """Return the numbers that `text` cites: single rules, facts, and whole sections as `R4`."""
    return set(CITATION.findall(text))


def citing_files() -> list[Path]:
    paths = [path for folder in CITING for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".txt")]
    readme = ROOT / "README.md"
    return [path for path in paths if path != Path(__file__)] + [readme] * readme.exists()


def test_the_document_holds_every_rule_once_and_in_order():
    numbers = [number for number, _ in RULE.findall(RULES_FILE.read_text())]
    assert numbers == NUMBERS


def test_every_rule_says_something():
    assert all(len(text.split()) >= 5 and text.rstrip().endswith((".", ".)")) for text in rules().values())


def test_every_number_cited_anywhere_stands_in_the_document():
    known = {*rules(), *(number.split(".")[0] for number in rules())}
    unknown = {str(path.relative_to(ROOT)): citations(path.read_text()) - known for path in citing_files()}
    assert not {path: numbers for path, numbers in unknown.items() if numbers}


def test_every_rule_is_cited_by_a_test():
    """Count citations of single rules; a section cited whole (`R5`) does not count."""
    tests = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    cited = {number for text in tests for number in citations(text)}
    assert set(rules()) - cited == set()


def test_every_number_cited_in_the_document_itself_stands_in_it():
    known = {*rules(), *(number.split(".")[0] for number in rules())}
    assert citations(RULES_FILE.read_text()) <= known


def test_the_document_says_that_the_project_is_not_the_publishers():
    assert "not affiliated with the publisher" in RULES_FILE.read_text()


def test_the_table_of_setups_is_the_one_the_kernel_plays():
    """Compare mouse cards, mice, bank and total of 3, 4 and 5 players (R2.1, R2.2, R2.3, F1)."""
    rows = re.findall(r"^\| .+ \(([RF][0-9.]+)\) \| (.+) \| (.+) \| (.+) \|$", RULES_FILE.read_text(), re.MULTILINE)
    stated = {number: values for number, *values in rows}
    setups = [standard_setup(players) for players in (3, 4, 5)]
    assert stated == {
        "R2.1": [", ".join(map(str, setup.mouse_cards)) for setup in setups],
        "R2.2": [str(setup.mice) for setup in setups],
        "R2.3": [str(setup.bank) for setup in setups],
        "F1": [str(setup.total_mice) for setup in setups],
    }


def test_citations_are_found_in_ranges_and_sections_and_nowhere_else():
    assert citations("R2.1-R2.5, (R4.8, R1.3a) and R7; F2.") == {"R2.1", "R2.5", "R4.8", "R1.3a", "R7", "F2"}
    assert citations("RUF002 F401 R10 PR2 D203 R4.") == {"R4"}
