"""Notices that several families share, in words."""

from __future__ import annotations

from bsx.support.result import Notice

SEEN = ("seen-rows", "training-unknown", "no-texts")
"""What `bsx.metrics.learned.seen.seen_notices` says."""
_LEARNED = {"networks": "", "weights": "the weights of "}


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
