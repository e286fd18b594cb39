"""A report and its ways out; as one HTML page that loads nothing: texts escaped, scripts named by their digests."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from bsx.analysis.present.charts import COLOURS, SHAPES
from bsx.analysis.present.markdown import page as markdown
from bsx.analysis.present.parts import Chart, Page, Segments
from bsx.data.output import atomic_text
from bsx.errors import InputError
from bsx.support.folders import cache_folder
from bsx.support.optional import need
from bsx.support.provenance import VERSION
from bsx.support.untyped import Untyped

_SCRIPTS = ("theme.js", "tables.js", "segments.js", "charts.js")
_LONG = 16  # rows from which a table is folded away


@dataclass(frozen=True)
class Report(Page):
    """A report, to be written as HTML or Markdown; see `bsx.analysis.present.parts.Page` for what it holds."""

    def to_html(self) -> str:
        """Return one page that needs nothing but itself.

        Raises:
            MissingExtraError: if jinja2, or vl-convert for a report with charts, is missing.
        """
        jinja2 = need("jinja2", "writing an HTML report")
        loader = jinja2.FunctionLoader(shipped)
        templates = prepared(
            jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, loader=loader)
        )
        blocks = [block for section in self.sections for block in section.blocks]
        charts = [block for block in blocks if isinstance(block, Chart)]
        tables = [block for block in blocks if isinstance(block, Segments)]
        style = shipped("report.css")
        scripts = ["\n".join(shipped(name) for name in _SCRIPTS)]
        if charts:
            scripts.insert(0, chart_library())
        # No script can end its element early; in JavaScript strings the two spellings are the same.
        scripts = [
            code.replace("</script", r"<\/script").replace("<!--", r"<\!--").replace("\r", "") for code in scripts
        ]
        policy = (
            f"default-src 'none'; script-src {' '.join(map(_digest, scripts))}; style-src {_digest(style)}; "
            "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types default"
        )
        safe = need("markupsafe", "writing an HTML report").Markup
        content: str = templates.get_template("report.html.jinja").render(
            report=self,
            policy=policy,
            style=safe(style),
            scripts=[safe(script) for script in scripts],
            charts=charts,
            tables=tables,
            version=VERSION,
            licences=shipped("LICENCES.txt"),
            segments_data=safe(in_script([_segments(table) for table in tables])),
            charts_data=safe(in_script([[spec for _, spec in chart.panels] for chart in charts])),
        )
        return content

    def to_markdown(self) -> str:
        """Return the same content without charts, and of long tables of segments only the first rows."""
        return markdown(self)

    def save(self, path: str | Path, format: str | None = None) -> None:
        """Write the report; the file appears when it is complete.

        Args:
            path: .html or .md.
            format: ``html`` or ``markdown``, for names that do not say it.

        Raises:
            InputError: for another ending without a format, or an unwritable place.
        """
        chosen = which_format(Path(path), format)
        content = self.to_html() if chosen == "html" else self.to_markdown()
        with atomic_text(Path(path)) as stream:
            stream.write(content)


SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}


def which_format(path: Path, format: str | None) -> str:
    """Return the format of a file, by its name unless it is said."""
    chosen = format if format is not None else SUFFIXES.get(path.suffix.lower())
    if chosen is None:
        raise InputError("cannot tell the format; the name must end in .html or .md, or say format", file=path)
    return chosen


def prepared(environment: Untyped) -> Untyped:
    """Return an environment of templates with what ``parts.html.jinja`` needs, which shows parts of results."""
    # Counts and percentages stay on one line.
    environment.filters["unbroken"] = lambda text: text.replace(" %", "\u00a0%").replace("n = ", "n\u00a0=\u00a0")
    environment.globals.update(long=_LONG, colours=COLOURS, shapes=SHAPES)
    return environment


def shipped(name: str) -> str:
    """Return a file of the page's, such as its style sheet."""
    return resources.files("bsx.analysis.report").joinpath("page", name).read_text(encoding="utf-8")


def kept_library() -> Path:
    """Return where `chart_library` is kept; it need not be there yet."""
    return cache_folder() / f"vegaEmbed-{need('vl_convert', 'drawing charts').__version__}.js"


@cache
def chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed, which take a second to put together; their interpreter needs no eval."""
    library, kept = need("vl_convert", "drawing the charts of an HTML report"), kept_library()
    with contextlib.suppress(OSError, ValueError):  # none yet, or damaged
        return kept.read_bytes().decode()
    bundle: str = library.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    with contextlib.suppress(OSError, InputError):  # a cache that cannot be written to only costs time
        kept.parent.mkdir(parents=True, exist_ok=True)
        with atomic_text(kept, internal=True) as stream:
            stream.write(bundle)
    return bundle


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def in_script(value: object) -> str:
    """Return JSON for a ``<script type="application/json">``, which no text in it can end."""
    dumped = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return dumped


def _segments(table: Segments) -> dict[str, object]:
    return {
        "columns": table.columns,
        "rows": table.rows,
        "numeric": sorted(table.numeric),
        "metrics": table.metrics,
        "category": table.category,
        "hidden": sorted(table.hidden),
    }
