"""Tables 1, 3, 4, 6, 10, 12, 13 and Figure 3 of Kaster, Zhao & Eger 2021 from the scores that its authors published."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
from pydantic import ConfigDict

from benchmarks.published.kaster import present as present  # shows what comes out
from benchmarks.published.kaster.ensembles import FILE, Scores, find_judgments, reproduce_ensembles
from benchmarks.published.kaster.result import (
    FileFacts,
    PublishedExample,
    Recomputed,
    Reproduction,
    TableFacts,
    cut_off,
    published,
    published_cell,
    summed_up,
)
from benchmarks.published.kaster.triples import WHY_300, reproduce_triples
from benchmarks.published.table import Figure, PublishedFacts, Work, read_facts
from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.published import LeftOut
from bsx.data.columns import read_columns, standardise
from bsx.data.tables import Table
from bsx.errors import DataUnavailableError, InputError
from bsx.support.checks import Array


class KasterFacts(PublishedFacts):
    """What the YAML states for every publication; the rest is `Published`."""

    model_config = ConfigDict(extra="ignore", frozen=True)


FACTS = read_facts("kaster2021", KasterFacts)


def recompute(work: Work) -> list[Figure]:
    """Return the printed figures with ours, as `benchmarks.published.harness.reproduce` wants them."""
    first, theirs = "kaster2021/wmt-en.tsv", "data/scored/out_wmt_mono.tsv"
    folder = work.find(first, theirs).parent
    work.read += [file for file in files(folder) if file not in work.read]
    found = reproduce(
        folder,
        lex=work.options.get("lex") is not False,
        wmt17=cast("Path | None", work.options.get("wmt17")),
    )
    figures = []
    for cell in found.cells:
        at = {"table": cell.table, "part": cell.part, "metric": cell.metric, "term": cell.term}
        figures.append(Figure(at, float(cell.paper.removesuffix("*")), cell.ours, remark=cell.exception))
    for example in found.table1:
        at = {"table": "1", "part": f"{example.file} row {example.row}", "metric": "z", "term": example.term}
        figures.append(Figure(at, float(example.paper), example.ours))
    for overlap in found.triples.table6 if found.triples is not None else ():
        at = {"table": "6", "part": overlap.name, "metric": "overlap", "term": overlap.pair}
        figures.append(Figure(at, float(overlap.paper), overlap.ours, remark=WHY_300 if overlap.first else ""))
    if found.triples is None:
        work.left_out.append(LeftOut(what="Table 6", reason="the folder has no freitag.tsv and paws.tsv"))
    for gain in found.table13.cells if found.table13 is not None else ():
        at = {"table": "13", "part": gain.ensemble, "metric": "gain", "term": gain.group}
        figures.append(Figure(at, float(gain.paper), gain.ours, tolerance=0.5))
    if found.table13 is None:
        work.left_out.append(LeftOut(what="Table 13", reason=f"{FILE} is neither there nor given as wmt17"))
    return figures


def files(folder: Path) -> list[Path]:
    """Return those files of the paper's data that are in a folder."""
    facts = published()
    names = [f"{name}.tsv" for name in (*facts["files"], *facts["triples"])]
    names += [file["file"] for file in facts["files"].values()]
    names += [f"data/scored/{file['file']}" for file in facts["files"].values()]
    return [folder / name for name in names if (folder / name).is_file()]


def reproduce(folder: Path | str, *, lex: bool = True, wmt17: Path | None = None) -> Reproduction:
    """Recompute the tables.

    Args:
        folder: a checkout of the authors' repository (or its ``data/scored``), or a folder with ``wmt-en.tsv`` and so
            on: the same columns with a header and without quoting.
        lex: recompute the English LEX columns and the overlaps of Table 6 from the texts too; needs NLTK.
        wmt17: table of WMT17's segment-level judgments, for Table 13; looked for in the folder and in ``wmt`` beside it
            unless given.

    Raises:
        InputError: if a file is missing, has other columns or another number of rows, or a cell is not a number.
    """
    facts = published()
    data = {name: _read(Path(folder), name, facts["files"][name]) for name in facts["files"]}
    exceptions = {
        (e["table"], e["part"], e["metric"], e["term"]): e["reason"] for e in (*facts["digits"], *facts["exceptions"])
    }
    cells = []
    for table in facts["tables"]:
        terms = [*table["factors"], "R2"]
        result = disentangle(data[table["file"]], list(table["cells"]), table["factors"], se="classic")
        for metric, printed in table["cells"].items():
            fit = result[metric]
            values = [*fit.coef.values(), fit.r2]
            for term, paper, ours in zip(terms, printed, values, strict=True):
                key = (table["table"], table["part"], metric, term)
                p = fit.p.get(term)
                cells.append(published_cell(key, paper, ours, p, exceptions.get(key, "")))
    examples = []
    for example in facts["examples"]:
        columns, row = data[example["file"]], example["row"]
        for term, paper in zip(example["terms"], example["printed"], strict=True):
            ours = float(standardise(term, np.asarray(columns[term], dtype=np.float64))[row - 1])
            shown = cut_off(ours)
            examples.append(
                PublishedExample(example["file"], row, term, paper, ours, shown, float(shown) == float(paper))
            )
    recomputed = []
    if lex:
        for table in facts["tables"]:
            if "bleu" in table["factors"]:
                recomputed.append(_recompute(table, data[table["file"]]))
    metrics = next(list(table["cells"]) for table in facts["tables"] if table["file"] == "wmt-en")
    triples = reproduce_triples(Path(folder), facts["triples"], metrics, lex=lex)
    judgments = wmt17 if wmt17 is not None else find_judgments(Path(folder))
    table13 = reproduce_ensembles(data["wmt-en"], judgments, facts["table13"]) if judgments is not None else None
    return summed_up(cells, examples, recomputed, triples, table13)


def _read(folder: Path, name: str, facts: FileFacts) -> Scores:
    labels = ["sentence1", "sentence2"]
    numbers = [column for column in facts["columns"] if column not in labels]
    own = folder / f"{name}.tsv"
    theirs = [path / facts["file"] for path in (folder / "data" / "scored", folder)]
    if own.is_file():
        columns: Scores = read_columns(own, numbers, texts=labels)
        found = own
    else:
        found = next((path for path in theirs if path.is_file()), theirs[0])
        if not found.is_file():
            raise DataUnavailableError(
                f"has neither {name}.tsv nor data/scored/{facts['file']}: give a checkout of the authors' "
                "repository or a folder with the tidy copies",
                file=folder,
            )
        # Tabs, fields quoted as in CSV, no header.
        columns = read_columns(Table(found, quoted=True, header=facts["columns"]), numbers, texts=labels)
    count = len(columns["sem"])
    if count != facts["rows"]:
        raise InputError(f"{found}: has {count} rows, the published file has {facts['rows']}")
    return columns


def _recompute(table: TableFacts, columns: Scores) -> Recomputed:
    from bsx.analysis.factors.lexical import bleu1
    from bsx.analysis.factors.treebank import treebank_tokens

    pairs = zip(columns["sentence1"], columns["sentence2"], strict=True)
    ours: Array = np.array([bleu1(treebank_tokens(a), treebank_tokens(b)) for a, b in pairs])
    distance = np.abs(ours - np.asarray(columns["bleu"], dtype=np.float64))
    metrics, factors = list(table["cells"]), table["factors"]
    before, after = (disentangle(data, metrics, factors, se="classic") for data in (columns, {**columns, "bleu": ours}))
    change = max(
        abs(x - y)
        for a, b in zip(before.results, after.results, strict=True)
        for x, y in zip([*a.coef.values(), a.r2], [*b.coef.values(), b.r2], strict=True)
    )
    rows = tuple(int(i) + 1 for i in np.flatnonzero(distance > 1e-9))
    return Recomputed(table["file"], len(ours), len(ours) - len(rows), rows, float(distance.max()), float(change))
