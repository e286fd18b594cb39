"""Write what was measured in which language: all figures, and evidence; the tables of a page, as a hook of mkdocs.

Run: python tools/language_evidence.py            (writes figures and evidence)
     python tools/language_evidence.py --check    (fails if that would change anything)

All figures are those of benchmarks/agreement/languages.json, which benchmarks/languages.py writes; languages.md next to
it has all of them, and the registry's entries in ENTRIES those that speak for a model or metric. The tables of
docs/models/languages.md are made while the documentation is built.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bsx.catalog.catalog import Catalog, shipped
from bsx.catalog.entries.models import LanguageEntry
from bsx.models.evidence import Advantage, Spreads, pooled

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "agreement" / "languages.json"
FIGURES = ROOT / "benchmarks" / "agreement" / "languages.md"
SOURCE = f"measured here: benchmarks/agreement/{FIGURES.name}"
MODEL = "me5-small-q4"
ENTRIES = {
    "bertscore": ("models/me5-small-q4", " of F1"),
    "bertscore-minilm": ("models/minilm", " of F1"),
    "muse-v3": ("metrics/muse-v3", ""),
    "muse-v3-qe": ("metrics/muse-v3-qe", ""),
    "sentence": ("metrics/sentence", f" with {MODEL}"),
    "sentence-qe": ("metrics/sentence-qe", f" with {MODEL}"),
    "xmoverscore": ("metrics/xmoverscore", f" with {MODEL}"),
}
"""Metric of the results -> the entry that its figures speak for, and what the statistic is called there."""
OTHERS = {
    "WMT15 DA": "Larionov et al. 2023",
    "Multi-SummEval focus": "Koto et al. 2021",
    "Multi-SummEval coverage": "Koto et al. 2021",
}
"""Data set -> who published the scores of BERTScore with models that are not among ENTRIES."""
ENTRIES |= {
    f"bertscore-{model}": (f"models/{model}", " of F1")
    for model in (
        "albert-base-v2",
        "bert-base-chinese",
        "bert-base-multilingual-cased",
        "bert-base-uncased",
        "bert_uncased_L-2_H-128_A-2",
        "distilbert-base-uncased",
        "roberta-large",
        "xlm-roberta-base",
        "xlm-roberta-large",
    )
}
TUNED = ("bertscore", "bertscore-minilm")
KINDS = {"translation": "human-translation", "summary": "human-summary", "similarity": "similarity"}
REFERENCE_FREE = ("sentence-qe", "xmoverscore", "muse-v3-qe")
Set = dict[str, Any]


def name_of(code: str, catalog: Catalog) -> str:
    """Return the English name of a language."""
    return catalog.languages[code].name


def sides(one: Set) -> tuple[str, str]:
    """Return the languages of source and of judged text."""
    return one["pair"].partition("-")[0], one["pair"].rpartition("-")[2]


def of_interest(one: Set) -> str:
    """Return the language that a row of the tables stands under: the one that is not English."""
    source, target = sides(one)
    return source if target == "en" else target


def number(value: float | None) -> str:
    """Return a correlation as papers print it."""
    return "not defined" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def figure(one: Set, name: str, *, interval: bool = False) -> str:
    """Return a metric's figure, with its interval if asked for; an empty cell says that it was not computed."""
    found = one["figures"].get(name)
    if found is None:
        return ""
    ends = f" [{number(found['interval'][0])}, {number(found['interval'][1])}]" if interval else ""
    return number(found["value"]) + ends


def verdicts(sets: list[Set], name: str, other: str) -> list[str]:
    """Return what a metric's tests against another say, set by set; false discoveries over all sets are kept below .05.

    Benjamini & Hochberg 1995. An empty cell says that there is no test.
    """
    tests = [one["figures"].get(name, {}).get(f"against_{other}") for one in sets]
    p = sorted(test[1] for test in tests if test is not None)
    below = [x for rank, x in enumerate(p, 1) if x <= 0.05 * rank / len(p)]
    most = max(below, default=-1.0)

    def said(test: list[float] | None) -> str:
        if test is None:
            return ""
        return "not told apart" if test[1] > most else "better" if test[0] > 0 else "worse"

    return [said(test) for test in tests]


def table(head: list[str], rows: Iterator[list[str]]) -> str:
    """Return a table whose figures stand to the right."""
    marks = ["---:" if name in ("n", "year") or name.startswith(("chrF", "BLEU", "TER")) else "---" for name in head]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, marks, *rows))


def ordered(sets: list[Set], catalog: Catalog) -> list[Set]:
    """Return sets by language, then by pair, the latest first."""
    return sorted(sets, key=lambda one: (name_of(of_interest(one), catalog), one["pair"], -one["year"], one["data"]))


def start(one: Set, catalog: Catalog) -> list[str]:
    """Return the first cells of a row."""
    mark = " †" if one["chosen_on"] else ""
    return [name_of(of_interest(one), catalog), one["pair"], one["data"] + mark, str(one["year"]), f"{one['n']:,}"]


START = ["language", "pair", "data", "year", "n"]


def referenced(sets: list[Set], catalog: Catalog) -> str:
    """Return the table of metrics that read a reference."""
    head = [*START, "chrF", "BLEU", "TER", "BERTScore, me5", "than chrF", "than sentinels"]
    head += ["sentence, me5", "mUSE", "BERTScore, MiniLM", "sentinel"]
    shown = [one for one in ordered(sets, catalog) if "chrf" in one["figures"]]
    said = zip(*(verdicts(shown, "bertscore", other) for other in ("chrf", "sentinel")), strict=True)
    rows = (
        [
            *start(one, catalog),
            *(figure(one, name) for name in ("chrf", "bleu", "ter")),
            figure(one, "bertscore", interval=True),
            *words,
            *(figure(one, name) for name in ("sentence", "muse-v3", "bertscore-minilm")),
            f"{one['sentinel']} {figure(one, one['sentinel'])}",
        ]
        for one, words in zip(shown, said, strict=True)
    )
    return table(head, rows)


def free(sets: list[Set], catalog: Catalog) -> str:
    """Return the table of metrics that read the source."""
    head = [
        *START,
        "sentence-qe, me5",
        "than length",
        "XMoverScore, me5",
        "mUSE",
        "length-qe",
        "chrF, with a reference",
    ]
    shown = [one for one in ordered(sets, catalog) if "length-qe" in one["figures"]]
    rows = (
        [
            *start(one, catalog),
            figure(one, "sentence-qe", interval=True),
            word,
            *(figure(one, name) for name in ("xmoverscore", "muse-v3-qe", "length-qe", "chrf")),
        ]
        for one, word in zip(shown, verdicts(shown, "sentence-qe", "sentinel"), strict=True)
    )
    return table(head, rows)


def published(sets: list[Set], catalog: Catalog) -> str:
    """Return the table of scores that others computed."""
    head = [*START, "chrF", "TER", "YiSi-2"]
    rows = (
        [*start(one, catalog), *(figure(one, name, interval=True) for name in ("chrF", "TER", "YiSi-2"))]
        for one in ordered(sets, catalog)
        if one["published"]
    )
    return table(head, rows)


def chosen_layers(found: list[Set], catalog: Catalog) -> str:
    """Return the table of layers that are best for summaries."""
    head = ["language", "model", "n", "best layer", "r", "registry's layer", "r there", "difference", "held out"]

    def rows() -> Iterator[list[str]]:
        for one in found:
            cells = [name_of(one["language"], catalog), f"`{one['model']}`", str(one["n"])]
            cells += [f"{one['best']} of {one['layers']}", number(one["r"])]
            if "difference" not in one:
                yield [*cells, "none", "", "", ""]
                continue
            low, high = one["interval"]
            gap = f"{one['difference']:+.3f} [{low:+.3f}, {high:+.3f}]".replace("0.", ".")
            yield [
                *cells,
                str(one["registry"]),
                number(one["r_registry"]),
                gap,
                f"{one['held_out']:+.3f}".replace("0.", "."),
            ]

    return table(head, rows())


def listed(codes: set[str], catalog: Catalog) -> str:
    """Return names of languages, in order."""
    return ", ".join(sorted(name_of(code, catalog) for code in codes))


def above(found: Advantage) -> str:
    """Return how far a metric lies above chrF, with its interval."""
    low, high = map(number, found.interval)
    return f"{number(found.difference)} [{low}, {high}]"


def advantages(catalog: Catalog) -> str:
    """Return how far BERTScore lies above chrF in each language that it was measured in."""
    found = {
        one.name: pooled(catalog).advantage(MODEL, one) for one in catalog.languages.values() if "-" not in one.code
    }
    head = ["language", "sets", "BERTScore, me5, above chrF"]
    return table(head, ([name, str(one.sets), above(one)] for name, one in sorted(found.items()) if one.sets))


def against_chrf(sets: list[Set], catalog: Catalog) -> str:
    """Return on which sets BERTScore is told apart from chrF."""
    shown = [one for one in ordered(sets, catalog) if "bertscore" in one["figures"]]
    said = verdicts(shown, "bertscore", "chrf")
    worse = (
        f"{one['data']} {one['pair']} ({figure(one, 'bertscore')} against {figure(one, 'chrf')})"
        for one, word in zip(shown, said, strict=True)
        if word == "worse"
    )
    better, behind, level = map(said.count, ("better", "worse", "not told apart"))
    return (
        f"- **Set by set,** BERTScore with `{MODEL}` is significantly better than chrF on {better} of {len(said)}, not "
        f"told apart on {level}, and worse on {behind}: {', '.join(worse)}."
    )


def summary(sets: list[Set], catalog: Catalog) -> str:
    """Return what was measured where, and where nothing was."""
    translated = [one for one in sets if one["kind"] == "translation"]
    into = {sides(one)[1] for one in sets if one["kind"] != "similarity" and not one["published"]}
    out_of = {sides(one)[0] for one in translated if not one["published"]} - into
    other = {code for one in sets for code in sides(one)} - into - out_of
    everything = into | out_of | other
    known = {
        one.language
        for entry in catalog.models.values()
        for one in entry.evidence
        if SOURCE not in one.source and one.kind != "similarity" and not one.dataset.startswith("STS")
    } - everything
    unmeasured = set(catalog.models[MODEL].languages) - everything - known - {"no"}
    other_language = LanguageEntry(code="und", name="another language", script="Zzzz", model=None)
    anywhere = pooled(catalog).advantage(MODEL, other_language)
    lines = [
        f"**{len(everything)} languages have human judgments here:** {len(into)} as the language of the judged texts, "
        f"{len(out_of)} more as the language of sources only, with translations into English, and {len(other)} with "
        f"published scores only. By all sets together, BERTScore with `{MODEL}` has a correlation with human "
        f"judgments of segments that lies {above(anywhere)} above chrF's in a further language. On a single set this "
        f"difference deviates by {number(Spreads().sets * 2**0.5)} (one standard deviation) beside sampling error, so "
        "that chrF is better on some. In each language:",
        "",
        advantages(catalog),
        "",
        against_chrf(sets, catalog),
        f"- **Judged texts:** {listed(into, catalog)}.",
        f"- **Sources only:** {listed(out_of, catalog)}. What reads the reference was measured on English there; what "
        "reads the source, in the language.",
        f"- **Published scores only:** {listed(other, catalog)}.",
    ]
    if known:
        lines.append(f"- **Figures of other models only:** {listed(known, catalog)} (`bsx models --lang`).")
    lines.append(
        f"- **Nothing measured,** although `{MODEL}` was trained on them ({len(unmeasured)}): "
        f"{listed(unmeasured, catalog)}."
    )
    return "\n".join(lines) + "\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the marks of docs/models/languages.md; mkdocs calls this for every page."""
    if page.file.src_uri != "models/languages.md":
        return markdown
    found, catalog = json.loads(RESULTS.read_text(encoding="utf-8")), shipped()
    sets = found["sets"]
    parts = {
        "summary": summary(sets, catalog),
        "references": referenced(sets, catalog),
        "sources": free(sets, catalog),
        "published": published(sets, catalog),
        "layers": chosen_layers(found["layers"], catalog),
    }
    for name, part in parts.items():
        markdown = markdown.replace(f"<!-- {name} -->", part)
    return markdown


def figures(found: Set, catalog: Catalog) -> str:
    """Return all figures with intervals, and signatures."""
    sets = ordered(found["sets"], catalog)
    names = list(dict.fromkeys(name for one in sets for name in one["figures"]))
    head = ["data", "pair", "year", "n", "sources", "statistic", *names]
    rows = (
        [
            f"{one['data']}{' †' * one['chosen_on']}",
            *(str(one[name]) for name in ("pair", "year", "n", "units", "statistic")),
            *(figure(one, name, interval=True) for name in names),
        ]
        for one in sets
    )
    used = {one["signature"] for each in sets for one in each["figures"].values() if "signature" in one}
    signatures = "".join(f"- `{text}`\n" for i, text in enumerate(found["signatures"]) if i in used)
    return f"""# Agreement with human judgments, by language

`benchmarks/languages.py` computes the scores and languages.json, and `tools/language_evidence.py` makes this page of
that; [What is known in which language](../../docs/models/languages.md) says what it means. † marks rows that the layer
of BERTScore was chosen on. bertscore, sentence, sentence-qe and xmoverscore ran on `{MODEL}`, bertscore-minilm on
`minilm`. Sentinels (length, length-qe, overlap) are shown with their own sign.

{table(head, rows)}
## Signatures

{signatures}"""


def evidence(sets: list[Set], metric: str, catalog: Catalog) -> Iterator[str]:
    """Yield the lines of a metric's evidence, but for rows that its layer was chosen on."""
    for one in ordered(sets, catalog):
        source, target = sides(one)
        found = one["figures"].get(metric)
        if found is None or found["value"] is None or target not in catalog.languages:
            continue
        if one["chosen_on"] and metric in TUNED:
            continue
        by = f", scores of {OTHERS[one['data']]}" if "signature" not in found else ""
        yield "  - {" + ", ".join(_fields(one, found, ENTRIES[metric][1], source, target, by)) + "}"


def _fields(one: Set, found: dict[str, Any], of: str, source: str, target: str, by: str) -> Iterator[str]:
    yield f"kind: {KINDS[one['kind']]}"
    yield f'dataset: "{one["data"]}"'
    yield f"year: {one['year']}"
    yield f'language: "{target}"'
    if source != target:
        yield f'direction: "{one["pair"]}"'
    yield f'statistic: "{one["statistic"]}{of}"'
    yield f"value: {found['value']:.3f}"
    yield f"interval: [{found['interval'][0]:.3f}, {found['interval'][1]:.3f}]"
    yield f"n: {one['n']}"
    if "chrf" in one["figures"]:
        yield f"chrf: {one['figures']['chrf']['value']:.3f}"
    yield f'source: "{SOURCE}{by}"'


def entry(file: Path, lines: list[str]) -> str:
    """Return an entry with its evidence from the results made anew, after the other evidence."""
    kept = [line for line in file.read_text(encoding="utf-8").splitlines() if SOURCE not in line]
    if "evidence:" not in kept:
        kept.insert(next(i for i, line in enumerate(kept) if line.startswith(("notes:", "check:"))), "evidence:")
    first = kept.index("evidence:") + 1
    end = next(i for i in range(first, len(kept) + 1) if i == len(kept) or not kept[i].startswith(" "))
    return "\n".join([*kept[:end], *lines, *kept[end:]]) + "\n"


def main() -> None:
    """Write, or check."""
    found, catalog = json.loads(RESULTS.read_text(encoding="utf-8")), shipped()
    files = {FIGURES: figures(found, catalog)}
    for metric, (name, _) in ENTRIES.items():
        file = ROOT / "registry" / f"{name}.yaml"
        files[file] = entry(file, list(evidence(found["sets"], metric, catalog)))
    for file, text in files.items():
        if "--check" not in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file}: is not what {RESULTS.name} says: run python tools/language_evidence.py")


if __name__ == "__main__":
    main()
