"""Metric cards on real data: chrF, BERTScore with two embedded encoders, mUSE, in English, German, Chinese, Russian.

Run: python benchmarks/cards.py --data DATA --work WORK [--registry]

DATA holds wmt/ and mqm/. Writes tables and cards to WORK, and
benchmarks/agreement/cards.md; every step is kept in WORK, so that a second run goes on. With ``--registry``, the
figures go into the shipped entries of the embedded models as their measured evidence.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bsx.analysis import Report, compare_cards, metric_card
from bsx.analysis.documents.cards import CardDocument
from bsx.analysis.report.blocks import ReportTable
from bsx.analysis.report.sections.cards import card_sections
from bsx.catalog.catalog import shipped
from bsx.catalog.entries import Evidence
from bsx.data.output import atomic_text
from bsx.jobs.carding.evidence import evidence_of
from bsx.support.json_text import to_json

METRICS = {
    "chrf": None,
    "bertscore:model=minilm": "minilm",
    "bertscore:model=me5-small-q4": "me5-small-q4",
    "muse-v3": "muse-v3",
}
"""Spec -> the registry's entry that its figures speak for."""
PARTS = ("agreement", "sentinels")
LIMIT = 200
PAIRS = ("de-en", "zh-en", "en-ru", "en-zh")
PACKAGES = ("bsx", "torch", "transformers", "onnxruntime", "numpy")
LONG = {"Tests", "What changes of the text do to the score", "Signatures"}
PAGE = Path(__file__).with_name("agreement") / "cards.md"


def rows(file: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of an unquoted table."""
    with file.open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)


def write(file: Path, columns: Sequence[str], found: Iterable[Mapping[str, str]]) -> Path:
    """Write a table."""
    with atomic_text(file) as stream:
        stream.write("\t".join(columns) + "\n")
        for row in found:
            stream.write("\t".join(row[name] for name in columns) + "\n")
    return file


def tables(data: Path, work: Path) -> list[Path]:
    """Write the tables in the layouts that a card knows, and return them."""
    judged = ["lp", "system", "sid", "source", "reference", "candidate", "human"]
    wmt17 = (row for row in rows(data / "wmt/daseg-wmt17.tsv") if row["lp"] in PAIRS)
    mqm = ({**row, "lp": "en-de", "human": row["mqm"]} for row in rows(data / "mqm/newstest2021-en-de.tsv"))
    return [write(work / "wmt17.tsv", judged, wmt17), write(work / "wmt21-mqm.tsv", judged, mqm)]


def page(cards: Sequence[CardDocument]) -> str:
    """Return the page: the leaderboard, then each card without its longest tables."""
    board = compare_cards(cards).to_report().to_markdown().split("\n", 2)[2]
    lines = [
        "# Metric cards",
        "",
        "`python benchmarks/cards.py --data DATA --work WORK --registry` makes this page, and puts the figures of the "
        "embedded models into the registry; [Metric cards](../../docs/evaluate/cards.md) says what a card holds. WMT17 "
        f"({', '.join(PAIRS)}) and WMT21 MQM (en-de): {LIMIT} rows of each language of a table, drawn at random with "
        "seed 1, so that intervals are wide; agreement and sentinels only. Tables of single tests are left out "
        "here; `bsx card` writes them.",
        "",
        board,
    ]
    for card in cards:
        kept = []
        for section in card_sections(card):
            section.blocks = [b for b in section.blocks if not (isinstance(b, ReportTable) and b.caption in LONG)]
            if any(isinstance(block, ReportTable) for block in section.blocks):
                kept.append(section)
        text = Report(card.metric, tuple(kept)).to_markdown().replace("\n## ", "\n### ")
        lines.append("\n#" + text)
    return "\n".join(lines).rstrip() + "\n"


def in_registry(cards: Sequence[CardDocument]) -> None:
    """Put the figures of segments into the shipped entries, in place of those of an earlier run."""
    catalog = shipped()
    for card in cards:
        name = METRICS[card.metric]
        if name is None:
            continue
        kind = "model" if name in catalog.models else "metric"
        found = evidence_of(card, name, catalog, source=f"measured here: benchmarks/agreement/{PAGE.name}")
        lines = [f"  - {{{', '.join(_fields(one))}}}" for one in found if one.level == "segment"]
        file = catalog.origins[kind, name]
        kept = [line for line in file.read_text(encoding="utf-8").splitlines() if "{aspect: " not in line]
        if "evidence:" not in kept:
            kept.insert(next(i for i, line in enumerate(kept) if line.startswith(("notes:", "check:"))), "evidence:")
        start = kept.index("evidence:") + 1
        end = next(i for i in range(start, len(kept) + 1) if i == len(kept) or not kept[i].startswith(" "))
        with atomic_text(file) as stream:
            stream.write("\n".join([*kept[:end], *lines, *kept[end:]]) + "\n")


def _fields(one: Evidence) -> Iterator[str]:
    versions = {name: version for name, version in (one.versions or {}).items() if name in PACKAGES}
    yield f"aspect: {one.aspect}"
    yield f'dataset: "{one.dataset}"'
    yield f'language: "{one.language}"'
    if one.direction is not None:
        yield f"direction: {one.direction}"
    yield f'statistic: "{one.statistic}"'
    yield f"value: {one.value:.3f}"
    if one.interval is not None:
        yield f"interval: [{one.interval[0]:.3f}, {one.interval[1]:.3f}]"
    yield f"n: {one.n}"
    yield f'signature: "{one.signature}"'
    yield f"versions: {{{', '.join(f'{name}: {version}' for name, version in versions.items())}}}"
    yield f'source: "{one.source}"'


def main() -> None:
    """Make tables, cards and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--registry", action="store_true")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    found = metric_card(
        list(METRICS),
        tables(asked.data, asked.work),
        store=asked.work / "cards",
        parts=PARTS,
        limit=LIMIT,
        progress=lambda phase, done, total: (
            print(f"{phase}: {done} of {total}", flush=True) if phase == "card" else None
        ),
    )
    for card in found.cards:
        with atomic_text(asked.work / f"{card.metric.replace(':', '-').replace('=', '-')}.json") as stream:
            stream.write(to_json(card.to_dict()) + "\n")
    with atomic_text(PAGE) as stream:
        stream.write(page(found.cards))
    if asked.registry:
        in_registry(found.cards)


if __name__ == "__main__":
    main()
