"""``bsx metrics``: the zoo, and one of its metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bsx.cli.options import Format, Full, Registry
from bsx.cli.output import group, print_rows, refuse_before_command, say
from bsx.support.untyped import to_json

if TYPE_CHECKING:
    from bsx.catalog.published import PublishedEntry

_WITH_MODEL = "with model or lang"
_EVIDENCE = 5  # figures of evidence that are shown without --full
_SUMMARISED = ("title", "needs", "higher_is_better", "range", "runs")  # fields that the first line says
metrics = group()


@metrics.callback(invoke_without_command=True)
def list_metrics(
    context: typer.Context,
    needs: Annotated[
        Literal["reference", "source"] | None, typer.Option(help="Only metrics that compare candidates with this.")
    ] = None,
    registry: Registry = None,
    format: Format = "text",
    full: Full = False,
) -> None:
    """List all metrics, those of other installed packages included."""
    if refuse_before_command(context):
        return
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.published import published_metrics
    from bsx.metrics.inventory import inventory

    catalog = load_registry(registry)
    say(f"left out of the registry: {problem}" for problem in catalog.problems)
    others = [entry for entry in published_metrics(catalog).values() if needs is None or needs in entry.needs]
    rows = [row for row in inventory(catalog) if needs is None or needs in row["needs"]]
    if format == "json":
        print(to_json({"metrics": rows, "published": [entry.model_dump(exclude_none=True) for entry in others]}))
        return
    runs = [row["runs"] in ("yes", _WITH_MODEL) for row in rows]
    what = "" if needs is None else f" that compare candidates with the {needs}"
    summary = f"{len(rows)} metrics{what}, {sum(runs)} of which run here"
    if of_choice := [row["name"] for row in rows if row["runs"] == _WITH_MODEL]:
        summary += f"; {', '.join(of_choice)} with the model of the language (--lang) or one of your choice (--model)"
    if others:
        summary += f". {len(others)} more do not run here, but their scores are published: bsx metrics show NAME"
    print(f"{summary}.\n")
    shown = [
        {
            "name": row["name"],
            "compares with": "+".join(need for need in row["needs"] if need != "candidate"),
            "runs here": row["runs"],
            "title": row["title"] + ("" if row["higher_is_better"] else " (lower is better)"),
        }
        for _, row in sorted(zip(runs, rows, strict=True), key=lambda pair: not pair[0])
    ]
    print_rows("metrics", shown, full=full)
    if others and full:
        shown = [
            {
                "name": entry.name,
                "reads": "+".join(entry.needs),
                "published for": ", ".join(entry.test_sets),
                "title": entry.title + (" (control)" if entry.control else ""),
            }
            for entry in others
        ]
        print("\nPublished scores")
        print_rows("published metrics", shown, full=True)


@metrics.command()
def show(
    name: Annotated[str, typer.Argument(help="A metric's name.")],
    registry: Registry = None,
    format: Format = "text",
    full: Full = False,
) -> None:
    """Show one metric: what it needs, its settings with their defaults, whom to cite; with --full, everything."""
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.published import find_published
    from bsx.metrics.base import plugins
    from bsx.metrics.inventory import describe

    catalog = load_registry(registry)
    published = find_published(name, catalog) if catalog.metric(name) is None and name not in plugins() else None
    if published is not None:
        _show_published(published, format, full)
        return
    details = describe(name, catalog)
    if format == "json":
        print(to_json(details))
        return
    from bsx.catalog.entries import Evidence
    from bsx.models.evidence import spelled_figure

    settings: list[dict[str, object]] = details.pop("settings")
    figures = [Evidence.model_validate(figure) for figure in details.pop("evidence")]
    needs = " and ".join(need for need in details["needs"] if need != "candidate")
    better = "higher" if details["higher_is_better"] else "lower"
    summary = f"{details['title']} compares candidates with the {needs}; {better} is better"
    print(f"{summary}, range {details['range']}. Runs here: {details['runs']}.\n")
    for field, value in details.items():
        if full or (value not in (None, "", []) and field not in _SUMMARISED):
            print(f"{field}: {', '.join(value) if isinstance(value, list) else '' if value is None else value}")
    for figure in figures if full else figures[:_EVIDENCE]:
        print(f"evidence: {spelled_figure(figure)}")
    if not full and len(figures) > _EVIDENCE:
        print(f"{len(figures) - _EVIDENCE} more figures of evidence: --full.")
    if settings:
        print()
        shown = [
            {"setting": row["name"], "default": str(row["default"]) or "-", "meaning": row["help"]} for row in settings
        ]
        print_rows("settings", shown, full=full)


def _show_published(entry: PublishedEntry, format: str, full: bool) -> None:
    """Show a metric of which there are published scores: what it is, where they are, how its authors run it."""
    if format == "json":
        print(to_json(entry.model_dump(exclude_none=True)))
        return
    does = "is a control, which cannot know how good a translation is" if entry.control else "does not run here"
    print(f"{entry.title} {does}; {entry.scores}.\n")
    print(f"name: {entry.name}\nneeds: {', '.join(entry.needs)}")
    facts = {"what it is": entry.about, "licence": entry.licence, "size": entry.size, "how to run it": entry.run}
    for field, fact in facts.items():
        if fact is not None:
            print(f"{field}: {fact.says}" + (f" [{fact.source}]" if full else ""))
    if entry.here is not None:
        print(f"nearest that runs here: {entry.here}")
    print(f"citation: {entry.citation}" + (f"\nnotes: {entry.notes}" if entry.notes else ""))
