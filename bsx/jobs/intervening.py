"""What metrics react to: texts of a table edited factor by factor, beside what their scores go with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack, cast

import numpy as np

from bsx.analysis.factors.base import Resources
from bsx.analysis.factors.zoo import get_factors
from bsx.analysis.intervening.pairs import PAIR_COLUMNS, EditedText, save_pairs
from bsx.analysis.intervening.result import Interventions
from bsx.analysis.intervening.run import intervene as run
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.bertscore.config import ScorerConfig
from bsx.data.columns import read_columns
from bsx.data.long import systems_together
from bsx.data.output import check_table, refuse_taken
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.metrics import open_metrics
from bsx.jobs.perturbing import MetricFunctions, Texts, find_parses
from bsx.jobs.settings.factors import InterveneSettings
from bsx.support.progress import Watch, told
from bsx.support.settings import complete, refuse_idle, takes


@takes(InterveneSettings)
def intervene(
    file: str,
    metrics: Sequence[str],
    *,
    edits: Sequence[str] | None = None,
    factors: Sequence[str] | None = None,
    save: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[InterveneSettings],
) -> Interventions:
    """Edit the texts of a table factor by factor, and explain how far each metric's scores fall.

    It reads files; `bsx.analysis.intervene` works on columns.

    Args:
        file: the table; ``-`` is standard input.
        metrics: their specs.
        edits: names of perturbations that aim at one factor; all that can be made unless given.
        factors: to measure, ``syn``, ``lex``, ``mor``; those for which a parser and vectors are given unless named.
        save: table to write: every minimal pair, what it moved and what that cost, with the table's other columns, none
            of which may be called as one of it.
        settings: model, language, and where and within what limits to run.
        progress: called with phase, done and total; True draws bars.
        **how: columns, parses, and how big edits are.

    Raises:
        InputError: for a table, metric, edit or factor that cannot be used.
    """
    progress = told(progress)
    if save is not None:
        check_table(save)
    asked = complete(how, InterveneSettings)
    settings = settings if settings is not None else ScorerConfig()
    if settings.lang in (None, "auto"):
        raise InputError("edits have rules by language; say which it is with `lang=`")
    wanted = factors
    if wanted is None:
        wanted = [*(["syn"] if asked["parser"] else []), "lex", *(["mor"] if asked["vectors"] else [])]
    made = get_factors(wanted, registry=settings.registry)
    read = frozenset[str]().union(*(factor.reads for factor in made))
    of = f"with the factors {', '.join(factor.entry.name for factor in made)}"
    refuse_idle(asked, InterveneSettings, of, *({"vectors", "lexicon"} - read))
    if asked["parser"] is None and "parser" not in read:
        refuse_idle(asked, InterveneSettings, "without `parser=`", "parser_dir", "download")
    columns = [asked["reference"], *(name for name in (asked["candidate"], asked["source"]) if name is not None)]
    human = asked["human"]
    if asked["candidate"] is None and (human is not None or asked["base"] == "candidate"):
        raise InputError(
            f"`{'human' if human is not None else 'base'}=` needs candidates: name their column with `candidate=`"
        )
    if asked["meaning"] is not None and human is None:
        raise InputError("`meaning=` is in units of human scores: name their column with `human=`")
    opened = Table(file)
    rows = list(opened.rows()) if save is not None else []
    if save is not None:
        refuse_taken(set(opened.columns) - {asked["reference"]}, PAIR_COLUMNS)
    table = read_columns(opened, [human] if human is not None else [], texts=list(dict.fromkeys(columns)))
    written = cast(list[str], table[asked["candidate"]]) if asked["candidate"] is not None else None
    texts = Texts(
        cast(list[str], table[asked["reference"]]),
        written if asked["base"] == "candidate" else None,
        cast(list[str], table[asked["source"]]) if asked["source"] is not None else None,
    )
    cache = None if settings.cache is None else Path(settings.cache) / "parses"
    column = asked["candidate"] if asked["base"] == "candidate" and asked["candidate"] else asked["reference"]
    parses, origin = find_parses(texts, column, settings.lang, asked, cache, progress)
    resources = Resources(
        parser=asked["parser"] or "stanza",
        parser_dir=asked["parser_dir"],
        download=asked["download"],
        vectors=asked["vectors"],
        lexicon=asked["lexicon"],
        cache=cache,
        progress=progress,
    )
    functions = MetricFunctions.of(open_metrics(metrics, settings), texts.sources, skip=asked["skip_errors"])
    treebank: Path | None = asked["treebank"]
    pairs: list[EditedText] = []
    found = run(
        texts.references,
        functions.functions,
        edits,
        factors=wanted,
        candidates=written,
        human=None if human is None else np.asarray(table[human], dtype=np.float64).tolist(),
        base=asked["base"],
        parses=parses,
        lang=settings.lang,
        inflections=None if treebank is None else Inflections.from_treebanks([treebank]),
        resources=resources,
        meaning=asked["meaning"],
        strength=asked["strength"],
        seed=asked["seed"],
        confidence=asked["confidence"],
        correction=asked["correction"],
        nan="omit" if asked["skip_errors"] else "error",
        keep=pairs.extend,
        progress=progress,
    )
    if save is not None:
        save_pairs(pairs, save, rows)
    return replace(
        found,
        skipped=tuple(functions.skipped),
        settings={**found.settings, "parses": origin},
        signatures=functions.signatures,
        notes=(*functions.notes, *systems_together(opened), *found.notes, *functions.left_out(), *functions.about),
    )
