"""Page of a review: the replay of the game, the summary, and every reviewed decision, the flagged ones first."""

from html import escape

from agents.play.explanation import Candidate, list_beliefs, write_difference
from agents.play.review_game import Review, ReviewedDecision, describe_flaw, summarize
from agents.trained_setups import describe_untrained
from felicity_env.game import NUM_CARDS
from felicity_env.game_record import action_text, card_text
from felicity_env.render.replay import Article, replay_html

_METHOD = (
    "The judge is the player {player}. A value is the win share of the seat if all seats play on as the judge does, in "
    "worlds drawn from what the seat knew. The actions of a decision are compared in the same worlds; all of their "
    "intervals are right together in 95 % of cases. What a decision brought is measured against the judge's own mix of "
    "actions, what it cost against the best action, which the judge itself need not play. Decisions have the numbers "
    "of the list of moves. Beliefs by actions suppose that the others play as the judge does, which people do not."
)


def render_review(review: Review, player: str, names: tuple[str, ...] = ()) -> str:
    """Return the page of a review as the text of an HTML file.

    player: code of the player that judged, for the reader. names: name of the player in each seat. If the game is not
    over, the page holds only what the seat may know. It begins at the dearest flagged decision.
    """
    article = Article(
        title=f"Felicity: review of seat {review.seat}",
        above=_write_summary(review, player),
        below=_write_decisions(review),
        seat=review.seat,
        position=review.flagged[0].explanation.decision - 1 if review.flagged else 0,
    )
    return replay_html(review.game, review.seat if review.result is None else None, names=names, article=article)


def _write_summary(review: Review, player: str) -> str:
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in summarize(review))
    links = "".join(
        f'<li><a href="#d={each.explanation.decision - 1}">{escape(describe_flaw(each))}</a></li>'
        for each in review.flagged
    )
    warning = "".join(f" {sentence}." for sentence in describe_untrained([player], [review.game.setup]))
    note = f'<p class="note">{escape(_METHOD.format(player=player) + warning)}</p>'
    return f"<section>{sentences}<ul>{links}</ul>{note}</section>" if links else f"<section>{sentences}{note}</section>"


def _write_decisions(review: Review) -> str:
    flagged = "".join(_write_decision(each, is_open=True) for each in review.flagged)
    others = "".join(_write_decision(each, is_open=False) for each in review.decisions if not each.is_flagged)
    first = f"<section><h2>Flagged decisions</h2>{flagged}</section>" if flagged else ""
    return f"{first}<section><h2>All other decisions</h2>{others}</section>"


def _write_decision(decision: ReviewedDecision, *, is_open: bool) -> str:
    """Write one decision as a block that the reader opens and closes."""
    explanation = decision.explanation
    number, taken = explanation.decision, action_text(decision.taken)
    title = f"Decision {number}, round {explanation.state.round_number + 1}: {taken}"
    cost = f", costs {decision.cost:.2f}" if decision.is_flagged else ""
    luck = "" if decision.luck is None else f" The luck that followed: {decision.luck:+.2f}."
    flaw = f"<p><b>{escape(describe_flaw(decision))}</b></p>" if decision.is_flagged else ""
    value = explanation.value
    return (
        f"<details{' open' if is_open else ''}><summary>{escape(title + cost)}</summary>{flaw}"
        f'<p><a href="#d={number - 1}">Show the position.</a> Win share before: {value.value:.2f} '
        f"({value.low:.2f} to {value.high:.2f}). Effect of the decision: {decision.effect:+.2f}.{luck}</p>"
        f"{_write_candidates(decision)}{_write_beliefs(decision)}</details>"
    )


def _write_candidates(decision: ReviewedDecision) -> str:
    rows = [_list_cells(candidate, decision) for candidate in decision.explanation.candidates]
    heads = ["action", "judge plays it", "win share", "more than taken", "interval"]
    return write_table("Plausible actions", heads, rows)


def _list_cells(candidate: Candidate, decision: ReviewedDecision) -> list[str]:
    is_taken = candidate.action == decision.taken
    paired = ("taken", "") if is_taken else write_difference(candidate)
    return [action_text(candidate.action), f"{candidate.probability:.2f}", f"{candidate.value:.3f}", *paired]


def _write_beliefs(decision: ReviewedDecision) -> str:
    heads = ["seat", "card", "by", *map(card_text, range(NUM_CARDS))]
    rows = [
        [str(seat), *cells] for seat, hidden in decision.explanation.hidden.items() for cells in list_beliefs(hidden)
    ]
    return write_table("What the others hid, in %", heads, rows)


def write_table(caption: str, heads: list[str], rows: list[list[str]]) -> str:
    """Return a table as HTML; the first cell of each row is its heading."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    name = escape(caption)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{name}"><table><caption>{name}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
