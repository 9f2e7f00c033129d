"""Prompts for a language model at the table: the rules and a position as text, and the action read from an answer."""

import re

from felicity_env.game import State
from felicity_env.game_record import action_text, legal_text, list_legal_actions
from felicity_env.notation import parse_action
from felicity_env.render.text import render_view

RULES = """\
You play the card game Felicity: The Cat in the Sack, to win.
- Each player began with the same cards, of which one may have been removed at random, and with mice, the money.
- Cards: cats, written by their points, such as -8 or 15; a rabbit R, worth 0; a large dog D and a small dog d.
- In each round, every player places a card face down in a row, the sack, after that of a dummy if there is one; the
  first card is shown.
- Then the players bid in turn for the whole sack: each bids more mice than the highest bid, or passes.
- Whoever passes is out for this round, pays nothing, and takes the mice of the leftmost mouse card that still has some;
  the next card of the row is then shown.
- The last one left pays its bid and wins the sack. If nobody has bid, the last one may buy it for 1 mouse, or leave it.
- A large dog alone in the sack chases away its best cat, a small dog alone its most negative cat; two or more dogs
  chase none.
- In the end the points of the cats won and the mice left are added. The highest sum wins; cat points decide ties.
"""
_ORDER = 'Think briefly. End your answer with a line of "ACTION: " and one of the legal actions, such as "ACTION: {}".'
_ACTION = re.compile(r"^[\s>*_`#-]*ACTION\s*[*_`]*:\s*(.*)$", re.IGNORECASE | re.MULTILINE)


def write_messages(state: State) -> list[dict[str, str]]:
    """Return the messages that ask for the action of the seat to act.

    state: redacted state, with only what the seat to act may know.
    """
    seat, legal = int(state.seat), list_legal_actions(state)
    position = render_view(state, seat, open_mice=True)  # a model has no memory, and payments are public
    actions = ", ".join(map(action_text, legal))
    order = _ORDER.format(action_text(legal[0]))
    return [
        {"role": "system", "content": RULES},
        {"role": "user", "content": f"{position}\n\nYour legal actions: {actions}.\n{order}"},
    ]


def read_action(answer: str, state: State) -> int:
    """Return the legal action that an answer names in its last line `ACTION: ...`.

    Raises `ValueError` with the reason, for people and for the model, if there is no such line, or the action is none
    or illegal.
    """
    found = _ACTION.findall(answer)
    if not found:
        raise ValueError('the answer has no line that begins with "ACTION:"')
    action = parse_action(" ".join(found[-1].strip().strip("`*_.\"' ").split()))
    if action not in list_legal_actions(state):
        raise ValueError(f"{action_text(action)} is not legal: {legal_text(state)}")
    return action
