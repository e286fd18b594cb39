"""``bsx adversarial``: can a metric be fooled?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import SHORT, spelled
from bsx.cli.options import (
    OF_ONE_METRIC,
    Column,
    Format,
    Full,
    Lower,
    Output,
    Score,
    TableFormat,
    take,
    take_keywords,
    with_settings,
)
from bsx.cli.output import form_of, group, names, progress_bar, refuse_beside, show, write_result, write_shown
from bsx.data.cells import finite
from bsx.errors import InputError
from bsx.jobs.settings.adversarial import ChallengeSettings, PairSettings, PerturbSettings, TripleSettings
from bsx.support.aligned import text_table
from bsx.support.json_text import to_json

adversarial = group()


@adversarial.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """Test whether metrics can be fooled: paraphrase pairs, triples, perturbations, challenge sets."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@adversarial.command()
@with_settings(config=PairSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def pairs(
    file: Annotated[Path, typer.Argument(help="Table of labelled pairs: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    label: Annotated[
        str | None, typer.Option(help="Column of labels, 1 for a paraphrase. [label, noisy_label or is_duplicate]")
    ] = None,
    column: Column = None,
    metric: Score = None,
    against: Annotated[
        Path | None, typer.Option(help="Second, harder table: report what each metric loses from FILE to it.")
    ] = None,
    sentence1: Annotated[
        str | None,
        typer.Option(*SHORT["sentence1"], help="Column of references. [sentence1, question1 or reference]"),
    ] = None,
    sentence2: Annotated[
        str | None,
        typer.Option(*SHORT["sentence2"], help="Column of candidates. [sentence2, question2 or candidate]"),
    ] = None,
    lower: Lower = None,
    curves: Annotated[
        Path | None,
        typer.Option(help="Write precision and recall by threshold: .tsv, .csv, .jsonl, .parquet.", writable=True),
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Take metrics for paraphrase detectors: ROC AUC, average precision, best threshold, paired tests."""
    from bsx.jobs.adversarial.pairs import fool_pairs

    with progress_bar() as report:
        found = fool_pairs(
            file,
            columns=names(column),
            metrics=metric or (),
            against=against,
            label=label,
            sentence1=sentence1,
            sentence2=sentence2,
            lower=names(lower),
            curves=curves,
            progress=report,
            **take_keywords(settings, PairSettings),
            settings=take(settings, ScorerConfig),
        )
    write_shown(found, [file] if against is None else [file, against], format, output, full=full)


@adversarial.command()
@with_settings(config=TripleSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def triples(
    file: Annotated[
        Path,
        typer.Argument(
            help="Table with label sentence1 sentence2 and scores, or with anchor paraphrase nonparaphrase."
        ),
    ],
    column: Column = None,
    metric: Score = None,
    lower: Lower = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Count how often metrics prefer the paraphrase: rates, margins, McNemar tests, worst triples."""
    from bsx.jobs.adversarial.triples import fool_triples

    with progress_bar() as report:
        found = fool_triples(
            file,
            columns=None if column is None else names(column),
            metrics=metric or (),
            lower=names(lower),
            progress=report,
            **take_keywords(settings, TripleSettings),
            settings=take(settings, ScorerConfig),
        )
    write_shown(found, [file], format, output, full=full)


@adversarial.command()
@with_settings(config=ChallengeSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def challenge(
    file: Annotated[
        Path,
        typer.Argument(
            help="Table with good, bad, reference or source, phenomenon, severity (.tsv, .csv, .jsonl, .parquet; .gz "
            "too), ACES, HW-TSC, or DEMETR's .json file or folder. Scores of chrf stand in chrf-good and chrf-bad."
        ),
    ],
    metric: Score = None,
    column: Column = None,
    lower: Lower = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(help="Weight of a severity, such as critical=25; repeatable. [critical=25 major=5 minor=1]"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw accuracies as a map: .png, .svg or .pdf.", writable=True)
    ] = None,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Count how often metrics score a good translation above a bad one, by phenomenon and severity."""
    from bsx.data.output import check_picture
    from bsx.jobs.adversarial.challenge import challenge_metrics

    if plot is not None:
        check_picture(plot)
    with progress_bar() as report:
        found = challenge_metrics(
            file,
            columns=names(column),
            metrics=metric or (),
            lower=names(lower),
            weights=_weights(weight),
            settings=take(settings, ScorerConfig),
            progress=report,
            **take_keywords(settings, ChallengeSettings),
        )
    if plot is not None:
        found.plot(plot)
    write_shown(found, sorted(file.glob("*.json")) if file.is_dir() else [file], format, output, full=full)


def _weights(given: list[str] | None) -> dict[str, float] | None:
    """Read NAME=NUMBER; None if nothing is given.

    Raises:
        InputError: for one that is spelled otherwise, negative or there twice.
    """
    found: dict[str, float] = {}
    for part in names(given):
        name, equals, number = part.partition("=")
        if not equals or not name or name in found:
            raise InputError(f"--weight {part}: write each severity once with its weight, such as critical=25")
        found[name] = finite(number, f"--weight {name}")
        if found[name] < 0:
            raise InputError(f"--weight {part}: a weight is not negative")
    return found or None


@adversarial.command()
def build_triples(
    file: Annotated[Path, typer.Argument(help="paws: labelled pairs; nouns: texts and their paraphrases.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Table to write: .tsv, .csv, .jsonl or .parquet.", writable=True)
    ],
    how: Annotated[
        Literal["paws", "nouns"], typer.Option(help="From pairs that share sentences, or by permuting nouns.")
    ] = "paws",
    lang: Annotated[str, typer.Option("-l", "--lang", help="Language of the texts.")] = "en",
    keep: Annotated[int, typer.Option(help="paws: how many triples to keep.")] = 300,
    by: Annotated[
        Literal["difference", "overlap"],
        typer.Option(help="paws: keep the largest differences of overlap, or the least overlaps of A and B."),
    ] = "difference",
    anchor: Annotated[str, typer.Option(help="nouns: column of anchors.")] = "anchor",
    paraphrase: Annotated[str, typer.Option(help="nouns: column of paraphrases.")] = "paraphrase",
    tagger: Annotated[
        str, typer.Option(help="nouns: stanza, nltk (as published), or a CoNLL-U file with parses of the anchors.")
    ] = "stanza",
    parser_dir: Annotated[Path | None, typer.Option(*SHORT["parser_dir"], help="nouns: stanza's models.")] = None,
    download: Annotated[bool, typer.Option("--download", help="nouns: let stanza fetch its model.")] = False,
    seed: Annotated[int, typer.Option(help="nouns: seed of the permutations.")] = 42,
    format: Format = "text",
) -> None:
    """Build triples of an anchor, a paraphrase and a misleading sentence, for `bsx adversarial triples`."""
    from bsx.jobs.adversarial.build import build_triples as build

    made = build(
        file,
        output,
        how=how,
        lang=lang,
        keep=keep,
        by=by,
        anchor=anchor,
        paraphrase=paraphrase,
        tagger=tagger,
        parser_dir=parser_dir,
        download=download,
        seed=seed,
    )
    show(made.summary, made.to_text, format)


@adversarial.command()
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
@with_settings(config=PerturbSettings, before="save")
def perturb(
    context: typer.Context,
    file: Annotated[
        str | None, typer.Argument(help="Table of texts: .tsv (unquoted), .csv, .jsonl, .parquet; - is stdin.")
    ] = None,
    metric: Score = None,
    perturbation: Annotated[
        str, typer.Option(help="Perturbations, separated by commas; all: those that can be applied.")
    ] = "all",
    strength: Annotated[str, typer.Option(help="Shares of words or letters, separated by commas.")] = "0.1,0.3",
    save: Annotated[
        Path | None, typer.Option(help="Keep changed texts and scores: .tsv, .csv, .jsonl or .parquet.", writable=True)
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the perturbations and stop.")] = False,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
    **settings: Any,
) -> None:
    """Change texts on purpose and measure how far each metric's scores fall, beside a change that keeps the meaning."""
    from bsx.jobs.perturbing import perturb as run

    if list_all:
        refuse_beside(context, "list_all", "format", "output")
        write_result(_listing(form_of(format, output)), output)
        return
    if file is None or not metric:
        raise InputError("give FILE with texts and --metric METRICS; --list shows the perturbations")
    how = take_keywords(settings, PerturbSettings)
    with progress_bar() as report:
        found = run(
            file,
            metric,
            perturbations=None if perturbation == "all" else names([perturbation]),
            strengths=_strengths(strength),
            save=save,
            settings=take(settings, ScorerConfig),
            progress=report,
            **how,
        )
    left_out = tuple(replace(one, why=spelled(one.why)) for one in found.left_out)
    found = replace(found, left_out=left_out, notes=tuple(map(spelled, found.notes)))
    read: list[str | Path] = [file, *([how["parses"]] if how["parses"] is not None else [])]
    write_shown(found, read, format, output, full=full)


def _strengths(spelled: str) -> list[float]:
    """Read shares with commas between.

    Raises:
        InputError: for one that is no number above 0 and at most 1, or for none at all.
    """
    found = []
    for part in filter(None, (part.strip() for part in spelled.split(","))):
        found.append(finite(part, "--strength"))
        if not 0 < found[-1] <= 1:
            raise InputError(f"--strength {part}: it is a share, above 0 and at most 1")
    if not found:
        raise InputError("--strength: give at least one share, such as 0.1")
    return found


def _listing(format: str) -> str:
    """Return all perturbations as a table or as JSON."""
    from bsx.analysis.perturbations.catalogue import PERTURBATIONS

    rows = [
        {
            "name": one.name,
            "preserves": one.preserves,
            "strength": one.graded,
            "needs": sorted(one.needs),
            "languages": list(one.languages) if one.languages is not None else None,
            "description": one.description,
            "acts_on": one.acts_on,
        }
        for one in PERTURBATIONS.values()
    ]
    if format == "json":
        return to_json({"perturbations": rows})
    lines = [("name", "meaning", "strength", "needs", "languages", "description")]
    lines += [
        (
            one.name,
            "keeps" if one.preserves else "changes",
            "yes" if one.graded else "",
            ", ".join(sorted(one.needs)),
            "any" if one.languages is None else " ".join(one.languages),
            one.description,
        )
        for one in PERTURBATIONS.values()
    ]
    return text_table(lines, "l")
