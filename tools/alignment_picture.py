"""Draw docs/alignment.svg, the token alignment on the README, with the embedded model.

Run: python tools/alignment_picture.py            (writes the picture)
     python tools/alignment_picture.py --check    (fails if the committed one differs)
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

import bsx

FILE = Path(__file__).resolve().parent.parent / "docs" / "alignment.svg"
CANDIDATE = "The old bridge was shut after the storm."
REFERENCE = "After the gale they closed the ancient bridge."
TOKEN, MARGIN, TOP, BOTTOM, HEIGHT = 92, 60, 58, 208, 262
STYLE = "font-family: 'DejaVu Sans', Verdana, sans-serif; font-size: 16px; text-anchor: middle"


def row(words: list[str], columns: dict[int, float], y: int) -> list[str]:
    return [f'<text x="{x:.0f}" y="{y}">{escape(words[i])}</text>' for i, x in columns.items()]


def draw() -> str:
    """Return the picture: two rows of tokens, and a line from each token to its best match in the other row."""
    found = bsx.Scorer(model="minilm").align(CANDIDATE, REFERENCE)
    sides = (found.candidate, found.reference)
    words = [[i for i, weight in enumerate(side.weights) if weight > 0] for side in sides]
    width = MARGIN * 2 + TOKEN * (max(map(len, words)) - 1)
    columns = [{i: width / 2 + TOKEN * (k - (len(part) - 1) / 2) for k, i in enumerate(part)} for part in words]
    chosen = {(i, int(found.candidate.match[i])) for i in words[0]}
    chosen_back = {(int(found.reference.match[j]), j) for j in words[1]}
    lines: list[str] = []
    labels: list[str] = []
    for i, j in sorted(chosen | chosen_back):
        if i not in columns[0] or j not in columns[1]:
            continue  # a special token
        cosine = float(found.cosines[i, j])
        (x1, x2), both = (columns[0][i], columns[1][j]), (i, j) in chosen & chosen_back
        dash = "" if both else ' stroke-dasharray="5 4"'
        lines.append(
            f'<line x1="{x1:.0f}" y1="{TOP + 10}" x2="{x2:.0f}" y2="{BOTTOM - 20}" stroke="#0b6e99" '
            f'stroke-width="{1 + 4 * cosine**2:.1f}" stroke-opacity="{0.25 + 0.65 * cosine**2:.2f}"{dash}/>'
        )
        if both:  # near the lower end, where lines have parted
            x, y = x1 + 0.9 * (x2 - x1), TOP + 10 + 0.9 * (BOTTOM - TOP - 30)
            labels.append(f'<text x="{x:.0f}" y="{y + 4:.0f}" class="cosine">{cosine:.2f}</text>')
    caption = f"precision {found.precision:.3f}   recall {found.recall:.3f}   F1 {found.f1:.3f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}">',
            f"<style>text {{{STYLE}; fill: #1a1a1a}} .note {{font-size: 13px; fill: #555}}",
            ".cosine {font-size: 12px; fill: #084c6b; stroke: #fff; stroke-width: 4px; paint-order: stroke}</style>",
            f'<rect width="{width}" height="{HEIGHT}" rx="8" fill="#fff"/>',
            f'<text x="{width / 2:.0f}" y="{TOP - 34}" class="note">candidate</text>',
            *lines,
            *labels,
            *row(found.candidate.tokens, columns[0], TOP),
            *row(found.reference.tokens, columns[1], BOTTOM),
            f'<text x="{width / 2:.0f}" y="{BOTTOM + 22}" class="note">reference</text>',
            f'<text x="{width / 2:.0f}" y="{BOTTOM + 44}" class="note" xml:space="preserve">{caption}</text>',
            "</svg>\n",
        ]
    )


def main() -> None:
    picture = draw()
    if sys.argv[1:] == ["--check"]:
        if not FILE.is_file() or FILE.read_text(encoding="utf-8") != picture:
            raise SystemExit(f"{FILE.name}: not what {Path(__file__).name} draws; run it without --check")
        return
    FILE.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
