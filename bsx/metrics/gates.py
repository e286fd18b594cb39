"""Quality gates: scores that must be reached, for builds that should fail when a system gets worse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from bsx.catalog.catalog import load_registry
from bsx.data.cells import finite
from bsx.data.outputs import GATES
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.untyped import JsonObject

FIGURES = ("bertscore.precision", "bertscore.recall", "bertscore.f1")
"""What gates of BERTScore by itself are called."""


def read_gates(given: Iterable[str], metrics: Sequence[str] | None) -> dict[str, float]:
    """Return the bounds in texts such as ``chrf=55,bertscore.f1=0.80``, ``bertscore:idf=true=0.8`` or ``copy=1%``.

    Args:
        given: the texts; a comma within a metric's own spelling does not end a bound.
        metrics: what will be scored; None: BERTScore by itself.

    Raises:
        UnknownNameError: for a score that will not be computed.
        InputError: if a bound is no number.
    """
    known = list(FIGURES if metrics is None else metrics)
    spelt = "|".join(sorted(map(re.escape, (*known, *GATES)), key=len, reverse=True))
    gate = re.compile(rf"\s*((?:{spelt})=[^,]*|[^,:=]+=[^,=]*(?=,|$)|.+)(?:,|$)", re.DOTALL)
    gates = {}
    for text in (text for several in given for text in gate.findall(several) or [several]):
        name, _, bound = text.strip().rpartition("=")
        if name in gates:
            raise InputError(f"fail_under: {name} has two bounds", setting="fail_under")
        if name in GATES:  # a share of candidates
            share = re.fullmatch(r"([0-9]+(\.[0-9]+)?)%", bound)
            if share is None or float(share[1]) > 100:
                advice = "write the largest share of candidates, from 0% to 100%, such as copy=1%"
                raise InputError(f"fail_under: {text[:80]!r}: {advice}", setting="fail_under")
            gates[name] = float(share[1]) / 100
            continue
        try:
            gates[name] = finite(bound, "the bound")  # as a cell of a table is read: 1_000 and 1e400 are no numbers
        except InputError:
            name = name if bound.endswith("%") and name not in known else ""
        if not name:
            entry = load_registry().metrics.get(re.split("[:.]", known[0])[0])
            low, high = getattr(entry, "low", None), getattr(entry, "high", None)
            # The middle of what is above 0 on the scale of the score.
            usual = "VALUE" if low is None or high is None else f"{(max(low, 0) + high) / 2:g}"
            raise InputError(
                f"fail_under: {text[:80]!r}: write a score and the least that it may be, such as {known[0]}={usual}",
                setting="fail_under",
            ) from None
        if name not in known:
            raise UnknownNameError(
                f"fail_under: there is no score {name!r} in this run; there are {', '.join(known)}, and shares of "
                f"candidates: {', '.join(GATES)}.{did_you_mean(name, [*known, *GATES])}",
                setting="fail_under",
            )
    return gates


def shortfalls(
    summary: JsonObject, gates: Mapping[str, float], shares: Callable[[str], Mapping[str, tuple[int, int]]]
) -> list[str]:
    """Return one sentence for each system's score that is worse than its bound; of error rates, that is higher.

    Args:
        summary: what `bsx.metrics.summary.Tally.summary` returns, of one layer.
        gates: name -> bound.
        shares: given a gate of `bsx.data.outputs.GATES`, says how many of how many candidates of each system it counts.
    """
    scores: list[tuple[str, str, float, bool]] = []
    for entry in summary.get("metrics", ()):
        scores += [(entry["metric"], row["system"], row["score"], entry["higher_is_better"]) for row in entry["scores"]]
    if "metrics" not in summary:
        for name in FIGURES:
            scores += [(name, row["name"], row[name.partition(".")[2]], True) for row in summary["systems"]]
    missed = []
    for name, system, score, higher_is_better in scores:
        if name in gates and (short := shortfall(score, gates[name], higher_is_better)) is not None:
            missed.append(f"{name} of {system} is {short}")
    for name in (name for name in gates if name in GATES):
        for system, (count, rows) in shares(name).items():
            if count > gates[name] * rows:
                share = f"{count / rows:.2%} ({count:,} of {rows:,} candidates)"
                missed.append(f"{name} of {system} is {share}, above {100 * gates[name]:g}%")
    return missed


def shortfall(score: float, bound: float, higher_is_better: bool = True) -> str | None:
    """Return a score and by how much it misses its bound; None if it does not.

    >>> shortfall(51.2, 55)
    '51.2000, 3.8000 below 55'
    >>> shortfall(0.6, 0.5, higher_is_better=False)
    '0.6000, 0.1000 above 0.5'
    """
    if score >= bound if higher_is_better else score <= bound:
        return None
    return f"{score:.4f}, {abs(score - bound):.4f} {'below' if higher_is_better else 'above'} {bound:g}"
