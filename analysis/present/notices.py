"""Notices that several families share, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bsx.analysis.present.cells import number, table, text
from bsx.analysis.present.parts import TablePart
from bsx.data.outputs import KINDS
from bsx.support.result import Notice

SEEN = ("seen-rows", "training-unknown", "no-texts")
"""What `bsx.metrics.learned.seen.seen_notices` says."""
_LEARNED = {"networks": "", "weights": "the weights of "}


def in_words(notice: Notice) -> str:
    """Return a notice about the rows of a meta-evaluation in words: what judgments cannot say, or what was seen."""
    values = notice.values
    if notice.name == "raters-apart":
        return (
            f"{notice.about} is standardised within each of {values['raters']:,} raters, who judged "
            f"{values['judged']:.1f} of {values['systems']} systems on average, and two of them {values['common']:.1f} "
            "in common: what systems of different raters differ by is lost, and correlations over systems can be too "
            "low."
        )
    if notice.name == "unjudged":
        means = ", ".join(
            f"{name} {dropped:.3g} for {kept:.3g} ({difference:+.2f} sd)"
            for name, (kept, dropped, difference) in values["means"].items()
        )
        return (
            f"the {values['dropped']:,} rows without {notice.about} are not like the {values['kept']:,} others: mean "
            f"scores {means}. Correlations speak of rows like those that were judged."
        )
    return seen_rows(notice)


def seen_rows(notice: Notice) -> str:
    """Return in words which rows something was fitted to before it was judged on them."""
    about, values = notice.about, notice.values
    if notice.name == "training-unknown":
        return f"what {about} was trained on is not recorded: its figures may be of rows that it has seen."
    where = f" of {values['table']}" if "table" in values else ""
    if notice.name == "no-texts":
        return (
            f"whether {about} was trained on the rows{where} cannot be told: they have no candidates with references "
            "or sources."
        )
    who = f"{_LEARNED.get(values['by'], '')}{about}"
    who += f" (its member {values['by']})" if values["by"] not in _LEARNED else ""
    did = {"train": "was trained on", "valid": "was chosen by its validation on"}[values["part"]]
    did = "were fitted to" if values["by"] == "weights" else did
    rows = f"{values['rows']:,} of the {values['of']:,} rows{where}"
    return f"{who} {did} {rows}: its figures are too high to be evidence."


def no_translations(notices: Sequence[Notice]) -> Iterator[TablePart]:
    """Yield how many candidates of each system are no translation, with the first of each kind; see `KINDS`."""
    rows = []
    for notice in notices:
        count, of, examples = (notice.values[name] for name in ("count", "of", "examples"))
        first = "; ".join(f"{example['segment']}: {example['candidate']}" for example in examples)
        rows.append([text(notice.about), text(KINDS[notice.name]), number(count), number(of), text(first)])
    if rows:
        columns = ["system", "what", "count", "of", "such as"]
        yield table("Candidates that are no translation", columns, rows, names=2, full=True)
