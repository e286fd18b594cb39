"""Make the tables of speed from the committed results in benchmarks/results/.

Run: python tools/speed_tables.py            (rewrites the table on README.md, between its markers)
     python tools/speed_tables.py --check    (fails if that would change it)

Those on the pages of docs/scale/ are made while the documentation is built, by this file as a hook of mkdocs: marks are
``<!-- NAME -->``, with the names in ``SECTIONS``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
PEER = "bert-score"
OPERATORS = {
    "FusedMatMul": "matrix products with the weights",
    "MultiHeadAttention": "attention: products of queries, keys and values, softmax, transpositions",
    "Add": "sums with biases and with what was before",
    "Gelu": "GELU",
    "LayerNormalization": "layer normalisation",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine(facts: dict[str, Any]) -> str:
    """Return in one sentence where figures come from."""
    names = ("bert-score", "torch", "transformers", "onnxruntime")
    versions = ", ".join(f"{name} {facts['versions'][name]}" for name in names if name in facts["versions"])
    threads = "one thread" if facts["threads"] == 1 else f"{facts['threads']} threads"
    load = f" Load average {facts['load_average']:.1f}." if "load_average" in facts else ""
    if facts.get("load_average", 0) > facts["cores"] + 1:
        load = f" Other work ran on it (load average {facts['load_average']:.1f})."
    return f"{facts['processor']}, {facts['cores']} cores, {threads}; {versions}.{load}"


def speed(results: dict[str, Any]) -> str:
    part = results["cpu"]["speed"]
    # A busy machine's clock says little; CPU seconds of one thread hardly notice what else runs.
    busy = part["machine"]["load_average"] > part["machine"]["cores"] + 1
    rows = []
    for row in part["table"]:
        seconds = row["cpu_seconds"] if busy else {n: row["pairs"] / r for n, r in row["pairs_per_second"].items()}
        ratio = row["cpu_ratio"] if busy else row["ratio"]
        others = (f"{row['pairs'] / seconds[name]:.1f} ({ratio[name]:.2f}x)" for name in ratio)
        rows.append([f"{row['pairs']:,}", f"{row['pairs'] / seconds[PEER]:.1f}", *others])
    head = ["pairs", PEER, *part["table"][0]["ratio"]]
    unit = "Pairs per CPU second" if busy else "Pairs per second"
    return f"{table(head, rows)}\n\n{unit}, and how many times bert-score's. {machine(part['machine'])}"


def encoder(results: dict[str, Any]) -> str:
    part, differences = results["cpu"]["encoder"], results["cpu"]["speed"]["largest_f1_difference"]
    rows = [
        [name, f"{rate:.0f}", f"{part['encoder_share_of_gemm'][name]:.0%}", f"{differences[name]:.1g}"]
        for name, rate in part["encoder_gflops"].items()
    ]
    head = [
        "backend",
        "GFLOP/s in the encoder",
        f"of a matrix product's {part['gemm_gflops']:.0f}",
        "largest change of F1",
    ]
    return table(head, rows)


def profile(results: dict[str, Any]) -> str:
    """Return which operators ONNX Runtime spends its time in the encoder on, from 1% upwards."""
    models = [results[name]["profile"] for name in ("cpu", "cpu-me5")]
    kinds = [kind for kind, share in models[0]["share"].items() if share >= 0.01]
    rows = [[OPERATORS[kind], *(f"{part['share'].get(kind, 0):.0%}" for part in models)] for kind in kinds]
    return table(["operators", *(part["model"] for part in models)], rows)


def means(rows: Sequence[dict[str, Any]], formats: Sequence[str]) -> list[str]:
    """Return the mean correlation in each number format, with its change from fp32 and the largest of a row."""
    mean = {how: sum(row[how] for row in rows) / len(rows) for how in formats}
    cells = [f"{mean['fp32']:.4f}"]
    for how in formats[1:]:
        largest = max((row[how] - row["fp32"] for row in rows), key=abs)
        cells.append(f"{mean[how]:.4f} ({mean[how] - mean['fp32']:+.4f}, {largest:+.4f})")
    return cells


def agreement(part: dict[str, Any], key: str, head: Sequence[str], first: Callable[..., list[str]]) -> str:
    """Return agreement with human judgments in each number format, one row for each value of a key."""
    formats = list(part["largest_f1_difference"])
    rows = []
    for value in sorted({row[key] for row in part["rows"]}):
        mine = [row for row in part["rows"] if row[key] == value]
        rows.append([*first(mine), f"{sum(row['n'] for row in mine):,}", *means(mine, formats)])
    others = [f"{how} (change, largest)" for how in formats[1:]]
    changes = " and ".join(f"{part['largest_f1_difference'][how]:.4f} ({how})" for how in formats[1:])
    where = {name: fact for name, fact in part["machine"].items() if name != "load_average"}  # no matter of time
    said = f"Largest change of a score: {changes}. {machine(where)}"
    return f"{table([*head, 'segments', 'fp32', *others], rows)}\n\n{said}"


def formats(results: dict[str, Any]) -> str:
    """Return what number formats cost by year, the mean over language pairs."""

    def first(rows: list[dict[str, Any]]) -> list[str]:
        return [f"WMT{rows[0]['year'] % 100}", str(len(rows))]

    return agreement(results["cpu"]["agreement"], "year", ["data", "language pairs"], first)


def me5(results: dict[str, Any]) -> str:
    return speed({"cpu": results["cpu-me5"]})


def int8_scores(results: dict[str, Any]) -> str:
    """Return how far int8 moves the scores of each metric, by language."""
    rows = [
        [
            row["model"],
            row["language"],
            row["metric"],
            f"{row['segments']:,}",
            *(f"{row[name]:.4f}" for name in ("largest", "percentile_99")),
            f"{row['mean']:+.4f}",
            f"{row['sd_of_scores']:.2f}",
        ]
        for row in results["int8"]["rows"]
    ]
    head = ["model", "language", "metric", "segments", "largest", "99% are below", "mean change", "sd of the scores"]
    return table(head, rows)


def formats_me5(results: dict[str, Any]) -> str:
    """Return what number formats cost by language pair, the mean over the years that have it."""

    def first(rows: list[dict[str, Any]]) -> list[str]:
        return [rows[0]["lp"], ", ".join(str(row["year"]) for row in rows)]

    return agreement(results["cpu-me5"]["agreement"], "lp", ["languages", "WMT"], first)


def start(results: dict[str, Any]) -> str:
    part = results["start"]
    head = {"seconds": ("seconds", ".2f"), "cpu_seconds": ("CPU seconds", ".2f")}
    measured = {name: said for name, said in head.items() if all(name in row for row in part["starts"].values())}
    rows = [
        [name, *(format(row[figure], form) for figure, (_, form) in measured.items())]
        for name, row in part["starts"].items()
    ]
    return f"{table(['what', *(title for title, _ in measured.values())], rows)}\n\n{machine(part['machine'])}"


def against_peer(part: dict[str, Any]) -> list[list[str]]:
    """Return a row for each contender: seconds, and how many times as fast as bert-score."""
    return [[name, f"{s:.2f}", f"{part['times_bert_score'][name]:.1f}x"] for name, s in part["seconds"].items()]


def systems(results: dict[str, Any]) -> str:
    part = results["systems"]
    rows = against_peer(part)
    rows += [
        [f"{name}, one system, whole process", f"{s:.2f}", ""]
        for name, s in part["whole_process_one_system_seconds"].items()
    ]
    head = [f"{part['systems']} systems of {part['segments']} segments", "seconds", "against bert-score"]
    return f"{table(head, rows)}\n\n{machine(part['machine'])}"


def matrix(results: dict[str, Any]) -> str:
    part = results["matrix"]
    rows = against_peer(part)
    memory, pairs = part["peak_mib"], part["pairs"]
    return (
        f"{table([f'{pairs:,} pairs', 'seconds', 'against bert-score'], rows)}\n\n"
        f"Peak memory: {memory['onnx']:,} MiB (ONNX Runtime), {memory['torch']:,} MiB (PyTorch), "
        f"{memory['bert-score']:,} MiB (bert-score). {machine(part['machine'])}"
    )


def million(results: dict[str, Any], name: str = "million") -> str:
    part = results[name]
    rows = [
        [f"{int(size):,}", f"{run['seconds']:,.0f}", f"{run['pairs_per_second']:,.0f}", f"{run['peak_mib']:,}"]
        for size, run in part["runs"].items()
    ]
    last = list(part["runs"].values())[-1]
    lines = []
    if tenths := last.get("mib_by_tenth"):
        lines.append(f"MiB in each tenth of the last run: {', '.join(f'{mib:,}' for mib in tenths)}.\n\n")
    for size, run in part["runs"].items():
        if left := run.get("left_after_a_tenth"):
            lines.append(
                f"After a tenth of {int(size):,} pairs, the bar said {left['said']:,.0f} seconds were left; "
                f"{left['was']:,.0f} were. "
            )
    if killed := part.get("killed_and_resumed"):
        times = len(killed["blocks_left_by_each_kill"])
        same = "the same bytes as" if killed["same_bytes"] else "other bytes than"
        lines.append(
            f"Killed {'once at a random moment' if times == 1 else f'{times} times at random moments'} and resumed, "
            f"{killed['size']:,} pairs gave {same} the run that was left alone. "
        )
    return (
        f"{table(['pairs', 'seconds', 'pairs a second', 'peak MiB'], rows)}\n\n"
        f"{''.join(lines)}{part['model']}; {machine(part['machine'])}"
    )


def million_chrf(results: dict[str, Any]) -> str:
    return million(results, "million-chrf")


def lexical(results: dict[str, Any]) -> str:
    part = results["lexical"]
    facts = part["machine"]
    busy = facts["load_average"] > facts["cores"] + 1
    clock = "cpu" if busy else "wall"
    rows = [
        [
            f"`{name}`",
            f"{one['pairs']:,}",
            f"{one[clock]['peer_us']:,.0f} ({'rouge-score' if name == 'rouge-l' else 'sacreBLEU'})",
            f"{one[clock]['bsx_us']:,.0f}",
            f"{one[clock]['ratio']:.1f}x",
            f"{one[clock]['least']:.1f}x to {one[clock]['greatest']:.1f}x",
        ]
        for name, one in part["metrics"].items()
    ]
    same = all(one["same_digits"] for one in part["metrics"].values())
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    load = f"Other work ran on it (load average {facts['load_average']:.1f})." if busy else ""
    return (
        f"{table(['metric', 'pairs', 'package, µs a pair', 'bsx, µs a pair', 'ratio', 'in single turns'], rows)}\n\n"
        f"{'CPU time of all threads' if busy else 'Time'}; sums over {part['turns']} turns. "
        f"{'All scores are the same to the last bit.' if same else 'Scores differ.'} "
        f"{facts['processor']}, {facts['cores']} cores; {versions}. {load}".rstrip()
    )


def lexical_runs(results: dict[str, Any]) -> str:
    part = results["lexical"]["runs"]
    facts = part["machine"]
    cores = facts["cores"]
    busy = facts["load_average"] > cores + 1
    unit = "cpu_seconds" if busy else "seconds"  # the work of all processes together, where the clock says nothing
    rows = [
        [
            f"`{one['metric']}`",
            f"{one['rows']:,}",
            *(f"{one[f'{side}_{unit}']:.1f}" for side in ("one", "several")),
            *(() if busy else (f"{one['ratio']:.2f}x", f"{one['least']:.2f}x to {one['greatest']:.2f}x")),
            "yes" if one["unasked"] else "no",
        ]
        for one in part["rows"]
    ]
    said = "CPU s of all" if busy else "s"
    head = ["metric", "rows", f"one process, {said}", f"{cores} processes, {said}"]
    head += [*(() if busy else ("ratio", "in single turns")), "spread where it is long"]
    same = "The outputs are" if all(one["same_bytes"] for one in part["rows"]) else "Not all outputs are"
    versions = ", ".join(f"{name} {facts['versions'][name]}" for name in ("sacrebleu", "rouge-score", "nltk", "numpy"))
    load = f" Other work ran on it (load average {facts['load_average']:.1f})." if busy else ""
    return (
        f"{table(head, rows)}\n\nThe whole command; turns: {part['turns']}. {same} the same bytes. "
        f"{facts['processor']}, {cores} cores; {versions}.{load}"
    )


SECTIONS = {
    "speed": speed,
    "speed-encoder": encoder,
    "speed-profile": profile,
    "speed-formats": formats,
    "speed-me5": me5,
    "speed-formats-me5": formats_me5,
    "speed-int8-scores": int8_scores,
    "speed-start": start,
    "speed-systems": systems,
    "speed-matrix": matrix,
    "speed-million": million,
    "speed-million-chrf": million_chrf,
    "speed-lexical": lexical,
    "speed-lexical-runs": lexical_runs,
}


def results() -> dict[str, Any]:
    """Return what was measured, by the names of the files."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the marks of the pages on speed; mkdocs calls this for every page."""
    if page.file.src_uri.startswith("scale/"):
        for name, make in SECTIONS.items():
            if f"<!-- {name} -->" in markdown:
                markdown = markdown.replace(f"<!-- {name} -->", make(results()))
    return markdown


def main() -> None:
    before = README.read_text(encoding="utf-8")
    pattern = re.compile(r"(<!-- speed -->\n).*?(\n<!-- /speed -->)", re.DOTALL)
    after = pattern.sub(lambda match: f"{match[1]}\n{speed(results())}\n{match[2]}", before)
    if "--check" in sys.argv[1:] and before != after:
        raise SystemExit("README.md: not what the committed results say; run python tools/speed_tables.py")
    README.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
