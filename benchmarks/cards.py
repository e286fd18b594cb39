"""Metric cards on real data: chrF, BLEU, BERTScore with two embedded encoders and mUSE, in four languages.

Run: python benchmarks/cards.py --data DATA --work WORK [--registry] [--parts perturbations]

DATA holds wmt/, mqm/, paws/, kaster2021/ and demetr/. Writes tables and cards to WORK, and
benchmarks/agreement/cards.md; every step is kept in WORK, so that a second run goes on. With ``--registry``, the
figures go into the shipped entries of the embedded models as their measured evidence. With ``--parts``, only
these are measured (perturbations, invariance), and replace what page and evidence have of them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bsx.analysis import Card, compare_cards, metric_card
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.markdown import markdown
from bsx.analysis.present.parts import Answer, Heading, Part, Prose, TablePart
from bsx.catalog.catalog import shipped
from bsx.catalog.entries.evidence import Evidence
from bsx.data.output import atomic_text
from bsx.jobs.cards.evidence import evidence_of
from bsx.support.untyped import to_json

METRICS = {
    "chrf": None,
    "bleu": None,
    "bertscore:model=minilm": "minilm",
    "bertscore:model=me5-small-q4": "me5-small-q4",
    "muse-v3": "muse-v3",
}
"""Spec -> the registry's entry that its figures speak for."""
LIMIT = 200
SETTINGS: dict[str, Any] = {"limit": LIMIT, "perturbed": 30, "checked": 20, "timed": 100, "resamples": 5000}
PAIRS = ("de-en", "zh-en", "en-ru", "en-zh")
PACKAGES = ("bsx", "torch", "transformers", "onnxruntime", "numpy")
LONG = {
    "What changes of the text do to the score",
    "Signatures",
    "Data",
    "Parts",
    "Share of pairs in which human judgments prefer the side that scores higher, by the difference in score",
}
CHANGED = {"perturbations": "Controlled changes", "invariance": "What should change nothing"}
"""Parts that can be measured alone -> their headings."""
OF_CHANGES = "share of changed meanings"
FINDINGS = """\
What to read from it:

- **Agreement.** BERTScore with me5 is in the first cluster of every row of agreement; MiniLM beside it into
  English, and not into Russian and Chinese, which it was not trained on. chrF stays with the first into Russian. On
  MQM (German) 25 whole segments of eight systems tell no metric from its sentinels: of segments nothing reaches .1,
  and eight systems are too few for a figure of systems. The registry has a figure on all rows beside it.
- **Meaning.** All are near chance on PAWS (AUC .49 to .72), where both sentences have the same words, and in its
  triples all prefer the sentence that shares words and not meaning (27 to 44 % right). A single changed meaning
  costs more than lost punctuation in fewer than half of the cases, whatever the metric and the language; in DEMETR,
  whose changes are larger, me5 and mUSE are right on 93 and 90 %.
- **How large a difference must be.** The tenth of pairs of segments that differ most is ordered as people order it
  in 92 to 99 % of cases by BERTScore with me5 on direct assessments, the tenth that differs least in 44 to 54 %,
  which is chance.
- **What breaks.** Nothing: what should change nothing changes nothing. Texts are compared in one Unicode form (NFC);
  without that, chrF and BLEU see other letters in Russian and German."""
PAGE = Path(__file__).with_name("agreement") / "cards.md"


def rows(file: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of an unquoted table, gzipped or not."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)


def write(file: Path, columns: Sequence[str], found: Iterable[Mapping[str, str]]) -> Path:
    """Write a table."""
    with atomic_text(file) as stream:
        stream.write("\t".join(columns) + "\n")
        for row in found:
            stream.write("\t".join(row[name] for name in columns) + "\n")
    return file


def fi_en(data: Path) -> Iterator[dict[str, str]]:
    """Yield the judged translations of all systems from Finnish, with their texts."""
    name = "wmt/newstest2017-fi-en"
    sides = {row["sid"]: row for row in rows(data / f"{name}.ref.tsv")}
    candidates = {(row["system"], row["sid"]): row["candidate"] for row in rows(data / f"{name}.systems.tsv")}
    for row in rows(data / f"{name}.human.tsv"):
        candidate = candidates[row["system"], row["sid"]]
        yield {**sides[row["sid"]], **row, "lp": "fi-en", "candidate": candidate, "human": row["z"]}


def tables(data: Path, work: Path) -> list[Path]:
    """Write the tables in the layouts that a card knows, and return them."""
    judged = ["lp", "source", "reference", "candidate", "human"]
    by_system = ["lp", "system", "sid", *judged[1:]]
    pairs = ["sentence1", "sentence2", "label"]
    wmt17 = (row for row in rows(data / "wmt/daseg-wmt17.tsv") if row["lp"] in PAIRS)
    judged_errors = rows(data / "mqm/newstest2021-en-de.tsv")
    # Of people's translations among the systems, one is the reference itself.
    mqm = ({**row, "lp": "en-de", "human": row["mqm"]} for row in judged_errors if not row["system"].startswith("ref-"))
    pawsx = ({**row, "lang": lang} for lang in ("de", "zh") for row in rows(data / f"paws/pawsx-{lang}-dev.tsv"))
    # The language of DEMETR is that of the source: all translations are English.
    demetr = ["category", "severity", "id", "source", "reference", "good", "bad"]
    return [
        write(work / "wmt17.tsv", judged, wmt17),
        write(work / "newstest2017-fi-en.tsv", by_system, fi_en(data)),
        write(work / "wmt21-mqm.tsv", by_system, mqm),
        write(work / "paws-qqp.tsv", pairs, rows(data / "paws/paws-qqp-dev.tsv")),
        write(work / "paws-x.tsv", ["lang", *pairs], pawsx),
        write(work / "triples-paws.tsv", pairs, rows(data / "kaster2021/triples-paws.tsv")),
        write(work / "demetr.tsv", demetr, rows(data / "demetr/demetr.tsv.gz")),
    ]


def page(cards: Sequence[Card]) -> str:
    """Return the page: what was measured on, the leaderboard, and each card without its longest tables."""
    board = compare_cards(cards).to_markdown(full=False)
    first = cards[0]
    machine = first.parts.cost.machine if first.parts.cost is not None else {}
    lines = [
        "# Metric cards",
        "",
        "`python benchmarks/cards.py --data DATA --work WORK --registry` makes this page, and puts the figures of the "
        "embedded models into the registry; [Metric cards](../../docs/evaluate/cards.md) says what a card holds. At "
        f"most {LIMIT} rows of each language of a table, drawn with seed {first.settings['seed']}, "
        f"{SETTINGS['perturbed']} references changed or edited in each language, {SETTINGS['checked']} rows on which "
        f"invariance is tried and {SETTINGS['timed']} segments timed: intervals are wide. WMT17 "
        f"({', '.join(PAIRS)}) and MQM are direct assessments and error counts of segments; systems are compared on "
        "newstest2017 fi-en and on MQM. Tables of single tests, of single changes and of differences, and all notes, "
        "are left out here; `bsx card` writes them.",
        "",
        FINDINGS,
        "",
        f"Timed on {', '.join(f'{name} {value}' for name, value in machine.items() if value)}, with other work on it.",
        "",
        "| table | kind | language | rows | groups |",
        "| --- | --- | --- | ---: | --- |",
        *(
            f"| {one.name} | {one.kind} | {', '.join(one.languages)} | {one.n} | {', '.join(one.groups)} |"
            for one in first.data
        ),
        "",
        board,
    ]
    for card in cards:
        lines += [f"\n## {card.metric}", "", shown(card)]
    return "\n".join(lines).rstrip() + "\n"


def shown(card: Card) -> str:
    """Return a card without its longest tables."""
    kept: list[Part] = []
    for part in parts_of(card):
        if isinstance(part, Heading) and kept and isinstance(kept[-1], Heading):
            kept.pop()  # nothing below it is left
        long = isinstance(part, TablePart) and (part.caption in LONG or part.caption.startswith("Tests: "))
        if isinstance(part, Answer | Heading | Prose | TablePart) and not long:
            kept.append(part)
    return markdown(kept)


def renewed(known: str, cards: Sequence[Card], parts: Sequence[str]) -> str:
    """Return a page with some parts made anew: their sections, and their figures in the leaderboard."""
    board = compare_cards(cards).to_markdown(full=False) if "perturbations" in parts else ""
    for line in board.splitlines():
        cells = line.split(" | ")
        if OF_CHANGES in line:
            table, where = cells[1].split(" (")[0], cells[2]
            found = re.search(rf"^\| .*{re.escape(table)} \(.*\| {where} \| {OF_CHANGES}.*$", known, re.MULTILINE)
            if found is None:
                raise SystemExit(f"{PAGE}: has no figure of {table}, {where}, to replace")
            known = known.replace(found[0], " | ".join([*found[0].split(" | ")[: -len(cards)], *cells[-len(cards) :]]))
    for card in cards:
        start = known.index(f"\n## {card.metric}\n")
        end = known.find("\n## ", start + 1)
        whole, after = (known[start:], "") if end < 0 else (known[start:end], known[end:])
        for heading, text in _sections(shown(card)).items():
            if heading in [CHANGED[part] for part in parts]:
                old = _sections(whole)[heading]
                whole = whole.replace(old, text.rstrip("\n") + "\n" * (len(old) - len(old.rstrip("\n"))))
        known = known[:start] + whole + after
    return known


def _sections(text: str) -> dict[str, str]:
    """Return heading -> section."""
    parts = re.split(r"^(?=### )", text, flags=re.MULTILINE)
    return {part.split("\n", 1)[0].removeprefix("### "): part for part in parts if part.startswith("### ")}


def in_registry(cards: Sequence[Card], *, changes: bool = False) -> None:
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
        ours = f"benchmarks/agreement/{PAGE.name}"
        known = file.read_text(encoding="utf-8").splitlines()
        if changes:
            new = iter(lines)
            with atomic_text(file) as stream:
                for line in known:
                    stream.write((next(new) if ours in line and OF_CHANGES in line else line) + "\n")
            if next(new, None) is not None:
                raise SystemExit(f"{file}: has fewer figures of changes than there are now")
            continue
        kept = [line for line in known if ours not in line]
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
    parser.add_argument("--parts", choices=CHANGED, nargs="+", default=[])
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    found = metric_card(
        metrics=list(METRICS),
        tables=tables(asked.data, asked.work),
        store=asked.work / "cards",
        parts=asked.parts,
        memory="1GB",
        **SETTINGS,
        progress=lambda phase, done, total: (
            print(f"{time.strftime('%H:%M:%S')} {phase}: {done} of {total}", flush=True) if phase == "card" else None
        ),
    )
    for card in found.cards:
        with atomic_text(asked.work / f"{card.metric.replace(':', '-').replace('=', '-')}.json") as stream:
            stream.write(to_json(card.to_dict()) + "\n")
    known = PAGE.read_text(encoding="utf-8") if asked.parts else ""
    made = renewed(known, found.cards, asked.parts) if asked.parts else page(found.cards)
    with atomic_text(PAGE) as stream:
        stream.write(made)
    if asked.registry:
        in_registry(found.cards, changes=bool(asked.parts))


if __name__ == "__main__":
    main()
