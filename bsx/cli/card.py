"""``bsx card``: all that can be measured of a metric, on one page; and cards side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli.messages import say, spelled
from bsx.cli.options import (
    OF_ONE_METRIC,
    Column,
    Full,
    Lower,
    Output,
    TableFormat,
    specs,
    take,
    take_keywords,
    with_settings,
)
from bsx.cli.output import names, progress_bar, write_shown
from bsx.errors import InputError
from bsx.jobs.carding.desk import CardSettings
from bsx.support.settings import refuse_idle, settings_of

_WORDS = ("notes", "reason", "why", "message", "left_out")
"""What in a card is said by the library, which names settings as Python does."""


def _spelled(value: Any, said: bool = False) -> Any:
    """Return a card with settings named as options, wherever the library says something."""
    if isinstance(value, dict):
        return {key: _spelled(item, said or key in _WORDS) for key, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item, said) for item in value]
    return spelled(value) if said and isinstance(value, str) else value


@with_settings("human", config=CardSettings)
@with_settings(*OF_ONE_METRIC, config=ScorerConfig)
def card(
    metrics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SPEC…",
            help="Metrics: NAME[:field=value,…]; see bsx metrics. With --compare, .json files of cards.",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Table or folder of tables, told apart by their columns: judged texts, pairs, triples, challenge "
            "sets; repeatable. [the shipped examples]"
        ),
    ] = None,
    column: Column = None,
    lower: Lower = None,
    human: Annotated[
        list[str] | None, typer.Option(help="Column of human scores, one a card. [human, human_z or z]")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--parts",
            help="Make only these parts: agreement, factors, paraphrase, perturbations, challenge, sentinels, "
            "invariance, cost, languages.",
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Lay the cards in these files side by side, with clusters.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Take no step from an earlier run, finished or stopped.")
    ] = False,
    full: Full = False,
    format: TableFormat = None,
    output: Output = None,
    **settings: Any,
) -> None:
    """Measure all that can be measured of metrics: one card each, step by step, with all tests corrected together."""
    from bsx.analysis.cards.leaderboard import compare_cards
    from bsx.analysis.cards.reading import read_cards
    from bsx.analysis.cards.result import CardRun

    people = names(human)
    if len(people) > 1:
        raise InputError(
            "--human: a card speaks of one column of human scores, because all its tests are corrected together; "
            f"make a card for each of {', '.join(people)}"
        )
    if people:
        settings["human"] = people[0]
    how = take_keywords(settings, CardSettings)
    config = take(settings, ScorerConfig)
    if compare:
        if not metrics:
            raise InputError("--compare: name the .json files of at least two cards")
        given: dict[str, object] = {
            "data": data,
            "column": column,
            "lower": lower,
            "human": human,
            "part": part,
            "fresh": fresh,
        }
        given |= {name: value for name, value in how.items() if name not in ("alpha", "human")} | config.model_dump()
        usual = {**dict.fromkeys(given), "fresh": False}
        usual |= {
            name: value for kind in (CardSettings, ScorerConfig) for name, (_, value) in settings_of(kind).items()
        }
        refuse_idle(given, {**usual, "human": None}, "with --compare, which reads cards")
        write_shown(compare_cards(read_cards(metrics), alpha=how["alpha"]), metrics, format, output, full=full)
    else:
        from bsx.jobs.carding.run import metric_card

        try:
            with progress_bar() as report:
                found = metric_card(
                    specs(metrics),
                    data or (),
                    columns=names(column),
                    lower=names(lower),
                    parts=names(part),
                    fresh=fresh,
                    settings=config,
                    progress=report,
                    **how,
                )
        except KeyboardInterrupt:
            say(["steps that are done are kept; the same command goes on with the others"])
            raise
        found = CardRun.from_dict(_spelled(found.to_dict()))
        write_shown(found.cards[0] if len(found.cards) == 1 else found, None, format, output, full=full)
    if output is not None:
        print(f"bsx: wrote {output}", file=sys.stderr)
