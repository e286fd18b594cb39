"""Write the page of all metrics while the documentation is built, from the registry and the code; a hook of mkdocs.

docs/reference/metrics.md gets the table of all metrics, that of published scores, and a section for each metric.
"""

from __future__ import annotations

import re
from typing import Any

from bsx.catalog.catalog import Catalog, shipped
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.published import published_metrics
from bsx.metrics.base import find_metric
from bsx.metrics.inventory import describe

PAGE = "reference/metrics.md"
MARK = "<!-- generated -->"
EMBEDDED = "minilm"
TYPES = {"boolean": "`true`, `false`", "integer": "whole number", "number": "number", "path": "file", "string": "text"}


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(" ".join(cell.split()) for cell in line) + " |" for line in lines)


def offline(entry: MetricEntry, has_model: bool) -> str:
    """Say what runs without a model hub; every extra is taken to be installed."""
    kind = find_metric(entry.name, shipped())[0]
    package = getattr(kind, "package", None)
    if package is not None:
        return f"once its model is on the machine, in an environment with {package.name}"
    if entry.name == "trained":
        return "if its encoder does"
    if entry.extra == "judge":
        return "with kept answers (`budget_requests=0`), or an endpoint on the machine"
    if entry.name == "meteor":
        return "with `synonyms=false`, or once NLTK has WordNet"
    if entry.name == "ensemble":
        return "if its members do"
    if entry.needs_hub:
        return "once its model is on the machine"
    own = shipped().find(entry.model) if entry.model is not None else None
    if not has_model or (own is not None and own.source.package is not None):
        return "yes"
    return f"with `--model {EMBEDDED}`"


def model(entry: MetricEntry, has_model: bool) -> str:
    if entry.extra == "judge":
        return "that of an endpoint"
    if entry.model is not None:
        return f"`{entry.model}`"
    return "by language" if has_model else "none"


def has_model(entry: MetricEntry, catalog: Catalog) -> bool:
    return "model" in find_metric(entry.name, catalog)[0].Config.model_fields


def overview(catalog: Catalog) -> str:
    rows = []
    for name, entry in sorted(catalog.metrics.items()):
        needs = " and ".join(need for need in entry.needs if need != "candidate")
        extra = f"`{entry.extra}`" if entry.extra else ""
        with_model = has_model(entry, catalog)
        title = entry.title + ("" if entry.higher_is_better else " (lower is better)")
        rows.append([f"[`{name}`](#{name})", title, needs, model(entry, with_model), extra, offline(entry, with_model)])
    return table(["metric", "what it is", "compares with", "own model", "extra", "runs offline"], rows)


def others(catalog: Catalog) -> str:
    """Return the metrics of which there are published scores only."""
    rows = []
    for name, entry in published_metrics(catalog).items():
        title = entry.title + (" (control)" if entry.control else "")
        licence = "not known" if entry.licence is None else entry.licence.says
        here = "" if entry.here is None else f"[`{entry.here}`](#{entry.here})"
        rows.append([f"`{name}`", title, ", ".join(entry.needs), ", ".join(entry.test_sets), licence, here])
    return table(["name", "what it is", "reads", "scores of", "licence", "nearest here"], rows)


def section(name: str, entry: MetricEntry, catalog: Catalog) -> str:
    """Return what there is to say about one metric."""
    details = describe(name, catalog)
    facts = [
        f"Needs {', '.join(entry.needs)}",
        f"model: {model(entry, has_model(entry, catalog))}",
        f"{'higher' if entry.higher_is_better else 'lower'} is better",
        f"range {details['range']}",
        f"an empty text scores {'as the metric has it' if entry.empty is None else f'{entry.empty:g}'}",
    ]
    if entry.languages != "any":
        many = len(entry.languages) > 9
        facts.append(f"made for {f'{len(entry.languages)} languages' if many else ', '.join(entry.languages)}")
    first = min(name for name, other in catalog.metrics.items() if other.implementation == entry.implementation)
    known = [] if first == name else describe(first, catalog)["settings"]
    rows = []
    for setting in details["settings"]:
        if setting in known:
            continue
        values = TYPES.get(setting["type"], ", ".join(f"`{choice}`" for choice in setting["type"].split("|")))
        default = f"`{setting['default']}`" if setting["default"] else "not set"
        rows.append([f"`{setting['name']}`", values, default, setting["help"].replace("|", "\\|")])
    parts = [f"### {entry.title} {{#{name}}}", escaped(entry.notes or ""), f"`{name}`: {'; '.join(facts)}."]
    if known:
        parts.append(f"Settings are those of [`{first}`](#{first}){', but:' if rows else '.'}")
    parts += [table(["setting", "values", "default", "meaning"], rows)] if rows else []
    return "\n\n".join([*parts, f"Source: {entry.citation}."])


def escaped(text: str) -> str:
    """Return text in which Markdown sees no emphasis and HTML no tag."""
    return re.sub(r"([*_|\[\]])", r"\\\1", text).replace("<", "&lt;")


def made() -> str:
    """Return what stands at the mark."""
    catalog = shipped()
    sections = (section(name, entry, catalog) for name, entry in sorted(catalog.metrics.items()))
    heads = "## All metrics", "## Published scores only", "## One by one"
    words = "Metrics that do not run here, of which there are scores to evaluate; `bsx metrics show NAME` says more."
    return "\n\n".join([heads[0], overview(catalog), heads[1], words, others(catalog), heads[2], *sections])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the mark; mkdocs calls this for every page."""
    return markdown.replace(MARK, made()) if page.file.src_uri == PAGE else markdown
