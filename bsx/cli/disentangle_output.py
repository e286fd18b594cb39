"""The folder that ``bsx disentangle -o`` fills."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.data.output import atomic_text

if TYPE_CHECKING:
    from bsx.analysis.disentangling.result import DisentangleResult

ENDINGS = {"text": "txt", "json": "json", "csv": "csv", "latex": "tex", "markdown": "md"}


def write_all(result: DisentangleResult, forms: Mapping[str, str], folder: Path, *, plot: bool) -> None:
    """Write every form of a result, ``disentangle.txt`` and so on, and if wanted the pictures.

    Args:
        result: what to draw.
        forms: key of `ENDINGS` -> content.
        folder: made if it is missing.
        plot: draw coefficients, shares of R² and each metric's residuals.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for form, content in forms.items():
        with atomic_text(folder / f"disentangle.{ENDINGS[form]}") as stream:
            stream.write(content)
    if not plot:
        return
    from bsx.analysis.disentangling.plots import draw_coefficients, draw_residuals, draw_shares

    draw_coefficients(result, folder / "coefficients.png", title="What the metrics depend on")
    draw_shares(result, folder / "shares.png", title="What explains the metrics")
    for fit in result:
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in fit.metric)
        draw_residuals(result, fit.metric, folder / f"residuals-{name}.png")
