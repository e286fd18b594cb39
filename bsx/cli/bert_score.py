"""`bsx-bert-score`: the command ``bert-score`` of bert-score 0.3.13, option by option and line by line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


def run() -> NoReturn:
    """Run the command; it ends as `bsx` does."""
    from bsx.cli.main import run as run_guarded

    run_guarded(call)


def call(arguments: Sequence[str]) -> int:
    """Score what the arguments name and print what bert-score prints; return the exit status."""
    try:
        given = _options().parse_args(list(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    candidates, references = _texts(given.cand, given.ref, idf=given.idf)

    from bsx.compat.bert_score import BERTScorer

    scorer = BERTScorer(
        given.model,
        given.num_layers,
        idf=given.idf,
        lang=given.lang,
        rescale_with_baseline=given.rescale_with_baseline,
        baseline_path=given.baseline_path,
        use_fast_tokenizer=given.use_fast_tokenizer,
    )
    if given.verbose and given.idf:
        print("preparing IDF dict...")
    precision, recall, f1 = scorer.arrays(candidates, references, given.verbose)  # without torch, where there is none
    line = scorer.hash
    means = (figure.mean().item() for figure in (precision, recall, f1))
    print(line, "P: {:.6f} R: {:.6f} F1: {:.6f}".format(*means))
    if given.seg_level:
        for row in zip(precision.tolist(), recall.tolist(), f1.tolist(), strict=True):
            print("\t".join(f"{value:.6f}" for value in row))
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bsx-bert-score", description="Calculate BERTScore as the command bert-score does")
    parser.add_argument("--lang", help='language of the texts, such as en, or "en-sci" for scientific text')
    parser.add_argument("-m", "--model", help="model: a registry name, a folder, or a hub id")
    parser.add_argument("-l", "--num_layers", type=int, help="layer to score with (default: the model's best)")
    parser.add_argument("-b", "--batch_size", type=int, default=64, help="without effect: batches are filled by tokens")
    parser.add_argument("--nthreads", type=int, default=4, help="without effect")
    parser.add_argument("--idf", action="store_true", help="weigh tokens by their idf in the references")
    parser.add_argument("--rescale_with_baseline", action="store_true", help="rescale with precomputed baselines")
    parser.add_argument("--baseline_path", help="baseline file of your own")
    # As there: the option turns off what is on, and only the hash shows it.
    parser.add_argument("--use_fast_tokenizer", action="store_false", help="leave the fast tokenizer out of the hash")
    parser.add_argument("-s", "--seg_level", action="store_true", help="show the scores of each pair too")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what is done")
    parser.add_argument("-r", "--ref", nargs="+", required=True, help="files of references, or texts")
    parser.add_argument("-c", "--cand", required=True, help="a file of candidates, or a text")
    return parser


def _texts(candidate: str, references: Sequence[str], *, idf: bool) -> tuple[list[str], list[list[str]]]:
    """Return candidates, and the references of each: lines of files, or the texts themselves."""
    from bsx.data.lines import NamedFile, check_line_counts
    from bsx.errors import InputError

    if Path(candidate).is_file():
        columns = {name: list(NamedFile(name).lines()) for name in (candidate, *references)}
        check_line_counts({name: len(column) for name, column in columns.items()})
        return columns[candidate], [list(row) for row in zip(*(columns[name] for name in references), strict=True)]
    if Path(references[0]).is_file():
        raise InputError(f"{candidate}: there is no such file of candidates")
    if idf:
        raise InputError("one pair of texts is no corpus to count idf on: drop --idf, or name files")
    return [candidate], [list(references)]
