"""Write registry/models/ from the model table of the installed bert-score package and tools/model_facts.tsv.

Run: python tools/carry_models.py            (writes one file for each model of the table)
     python tools/carry_models.py --check    (fails if a file differs from what would be written)

From bert-score come the best layer and the correlation behind it: the figures of ``model2layers`` and of the comments
in its source text. Further figures come from `tools/published_evidence.tsv`, the papers' figures for other targets than
English, and what `tools/language_evidence.py` wrote stays. Everything else comes from the table, which is made by hand:

- an empty ``id``: bert-score does not know the model, so its layer is unvalidated;
- ``layers``: those of the encoder; ``max_tokens``: special tokens included, empty if positions are relative;
- ``parameters``: of the whole checkpoint, encoder and decoder, without heads for tasks; empty if not certain;
- ``licence``: the model card's, else that of the release's repository; ``unknown`` where neither says;
- ``languages``: codes with commas between them, ``@`` and a list of `tools/language_lists.yaml`, ``multilingual``
  where the model card has no list, or ``none``;
- ``leading_space``: yes where bert-score measured the model with a space before the first word. It put one
  (``add_prefix_space``) where the tokenizer was a GPT2Tokenizer or RobertaTokenizer. In transformers 4.3, current when
  bert-score 0.3.8 (March 2021) measured them, those of BART, LED, Longformer and Blenderbot were subclasses of
  RobertaTokenizer, DeBERTa's was not. From 4.17 on only RoBERTa's own is left, so bert-score gives no space to the
  others today;
- ``prefix``: what the model card puts before a text, its blank included;
- ``called``: the name that papers have for it, which becomes an alias.

Models that are not in the table (minilm) are written by hand and left alone.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import textwrap
from importlib import metadata, resources
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT / "tools" / "model_facts.tsv"
LISTS = ROOT / "tools" / "language_lists.yaml"
PUBLISHED = ROOT / "tools" / "published_evidence.tsv"
MODELS = ROOT / "registry" / "models"
MEASURED = "benchmarks/agreement/languages.md"
ROW = re.compile(r'^    "(?P<id>[^"]+)": (?P<layer>\d+),(?:  # (?P<comment>.*))?$')
STATISTICS = {
    "": "dataset: WMT16 segment DA to-English, statistic: mean Pearson r of F1",
    # 0.5522827687776142 is 750/1358 and WMT18 has 1358 relative ranks for en-tr, so these are Kendall's tau over them.
    "WMT18 seg en-tr": ("dataset: WMT18, language: tr, direction: en-tr, statistic: Kendall tau of F1"),
}


def peer_table() -> dict[str, tuple[int, str | None]]:
    """Return bert-score's models: id -> layer and the comment behind it."""
    source = (resources.files("bert_score") / "utils.py").read_text(encoding="utf-8")
    body = source.partition("model2layers = {\n")[2].partition("\n}")[0]
    rows = {}
    for line in body.splitlines():
        if line.lstrip().startswith("#"):
            continue
        match = ROW.match(line)
        if match is None:
            raise SystemExit(f"bert-score's model2layers has a line this script does not understand: {line}")
        rows[match["id"]] = (int(match["layer"]), match["comment"])
    return rows


def scalar(value: str, *, in_brackets: bool = True) -> str:
    """Return a text as a YAML scalar, quoted if it would otherwise mean something else."""
    text, expected = (f"[{value}]", [value]) if in_brackets else (f"a: {value}", {"a": value})
    try:
        plain = bool(yaml.safe_load(text) == expected)
    except yaml.YAMLError:
        plain = False
    return value if plain else json.dumps(value, ensure_ascii=False)


def evidence(comment: str | None, published: list[dict[str, str]], measured: list[str]) -> str:
    lines = []
    if comment is not None:
        label, _, figure = comment.strip().rpartition(" ")
        source = f"bert-score {metadata.version('bert-score')}, comment in model2layers"
        lines.append(f'{STATISTICS[label]}, value: {float(figure)!r}, source: "{source}"')
    for row in published:
        fields = {"dataset": row["dataset"], "language": row["direction"].rpartition("-")[2]}
        fields |= {name: row[name] for name in ("direction", "level", "statistic")}
        fields |= {"value": repr(float(row["value"])), "called": row["called"], "source": f'"{row["source"]}"'}
        lines.append(", ".join(f"{name}: {value}" for name, value in fields.items()))
    found = [*(f"  - {{{line}}}" for line in lines), *measured]
    return "evidence:\n" + "".join(f"{line}\n" for line in found) if found else "evidence: []\n"


def language_lists() -> dict[str, tuple[list[str], str]]:
    """Return the lists of languages: name -> codes and who says so."""
    lists = yaml.safe_load(LISTS.read_text(encoding="utf-8"))
    return {name: (lists[entry.get("as", name)]["languages"], entry["source"]) for name, entry in lists.items()}


def languages(spelled: str, lists: dict[str, tuple[list[str], str]]) -> list[str]:
    """Return the lines that say which languages a model was trained on."""
    if spelled == "multilingual":
        return [f"languages: {spelled}"]
    if not spelled.startswith("@"):
        listed = [] if spelled == "none" else spelled.split(",")
        return [f"languages: [{', '.join(map(scalar, listed))}]"]
    codes, source = lists[spelled[1:]]
    wrapped = textwrap.wrap(", ".join(map(scalar, codes)), width=116, break_on_hyphens=False)
    text = "languages: [" + (wrapped[0] if len(wrapped) == 1 else "\n  " + "\n  ".join(wrapped)) + "]"
    return [text, f"languages_source: {json.dumps(source, ensure_ascii=False)}"]


def rendered(
    facts: dict[str, str],
    layer: int | None,
    comment: str | None,
    lists: dict[str, tuple[list[str], str]],
    published: list[dict[str, str]],
    measured: list[str],
) -> str:
    names = dict.fromkeys((facts["id"], facts["hub"], facts["called"]))
    aliases = [alias for alias in names if alias not in ("", facts["name"])]
    lines = [
        f"name: {scalar(facts['name'])}",
        f"aliases: [{', '.join(map(scalar, aliases))}]",
        f"source: {{hub: {scalar(facts['hub'])}, revision: main}}",
        f"family: {scalar(facts['family'])}",
        f"layers: {int(facts['layers'])}",
        f"layer: {'unvalidated' if layer is None else layer}",
        f"dimensions: {int(facts['dimensions'])}",
        f"max_tokens: {int(facts['max_tokens']) if facts['max_tokens'] else 'null'}",
    ]
    if facts["parameters"]:
        lines.append(f"parameters: {int(facts['parameters'])}")
    lines.append(f"licence: {scalar(facts['licence'])}")
    lines.extend(languages(facts["languages"], lists))
    if facts["leading_space"] == "yes":
        lines.append("leading_space: true")
    if facts["prefix"]:
        lines.append(f'prefix: "{facts["prefix"]}"')
    text = "".join(f"{line}\n" for line in lines) + evidence(comment, published, measured)
    return text + (f"notes: {scalar(facts['notes'], in_brackets=False)}\n" if facts["notes"] else "")


def read_table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    peer = peer_table()
    table, lists, figures = read_table(FACTS), language_lists(), read_table(PUBLISHED)
    known = {row["id"] for row in table if row["id"]}
    for problem, ids in (
        ("lacks", sorted(set(peer) - known)),
        ("has, but bert-score does not:", sorted(known - set(peer))),
    ):
        if ids:
            raise SystemExit(f"{FACTS.name} {problem} {', '.join(ids)}")
    names = [row["name"] for row in table]
    if len({name.casefold() for name in names}) != len(names):
        raise SystemExit(f"{FACTS.name}: a name occurs twice")
    stale = []
    for row in table:
        layer, comment = peer[row["id"]] if row["id"] else (None, None)
        if layer is not None and layer > int(row["layers"]):
            raise SystemExit(f"{row['name']}: layer {layer} of {row['layers']}")
        target = MODELS / f"{row['name']}.yaml"
        published = [figure for figure in figures if figure["name"] == row["name"]]
        there = target.read_text(encoding="utf-8").splitlines() if target.is_file() else []
        measured = [line for line in there if MEASURED in line]
        text = rendered(row, layer, comment, lists, published, measured)
        if not check:
            target.write_text(text, encoding="utf-8")
        elif not target.is_file() or target.read_text(encoding="utf-8") != text:
            stale.append(target)
    if stale:
        raise SystemExit(f"not as carried over: {', '.join(map(str, stale))}")
    print(f"{len(table)} models, {len(known)} of the {len(peer)} of bert-score")


if __name__ == "__main__":
    main()
