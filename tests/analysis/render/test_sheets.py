"""Tables of finished cells as text, Markdown and LaTeX."""

from __future__ import annotations

from bsx.analysis.render.html import html_table
from bsx.analysis.render.sheets import Bold, Sheet, latex_tables, markdown_tables

SHEET = Sheet(
    "5 % of a_b & R²",
    ["metric", "r", "p"],
    [["m_1", Bold("0.51 [0.40, 0.60]†1,3"), "2e-09†"], ["50%", "-0.04", ""], ["mean", "0.10†2", "0.040†"]],
    "Bold: best. †: p < 0.05.",
    foot=1,
)


def test_digits_stand_below_digits_in_text() -> None:
    title, head, *rows, note = SHEET.to_text().split("\n")
    assert (title, note) == (SHEET.title, SHEET.note)
    assert head.split() == list(SHEET.header)
    assert [row.split() for row in rows] == [
        ["m_1", "**0.51", "[0.40,", "0.60]**†1,3", "2e-09†"],
        ["50%", "-0.04"],
        ["mean", "0.10†2", "0.040†"],
    ]
    ends = [
        row.index("**†1,3") if "**" in row else row.index(cell) + 4
        for row, cell in zip(rows, ("", "0.04", "0.10"), strict=True)
    ]
    assert len(set(ends)) == 1


def test_markdown_keeps_marks_outside_of_bold() -> None:
    lines = SHEET.to_markdown().split("\n")
    assert lines[2] == r"| m_1 | **0.51 \[0.40, 0.60\]**†1,3 | 2e-09† |"
    assert lines[-1] == "5 % of a_b &amp; R². Bold: best. †: p &lt; 0.05."
    page = html_table(SHEET.to_markdown())
    assert "<td class=n><b>0.51 [0.40, 0.60]</b>†1,3</td>" in page
    assert "<caption>5 % of a_b &amp; R². Bold: best. †: p &lt; 0.05.</caption>" in page


def test_latex_escapes_hangs_marks_and_prints_intervals_small() -> None:
    latex = latex_tables([SHEET, SHEET], data="d_1.tsv", signatures={"m_1": "a|b"}, label="tab:x")
    lines = latex.split("\n")
    assert lines[:3] == [r"\begin{table}", r"\centering", r"\begin{tabular}{lrr}"]
    assert (
        r"m\_1 & \textbf{0.51} {\scriptsize [0.40, 0.60]}\rlap{$^{\dagger 1,3}$}\hphantom{$^{\dagger 1,3}$} &" in latex
    )
    assert r"$2\cdot10^{-9}$\rlap{$^\dagger$} \\" in latex
    assert r"50\% & $-$0.04\hphantom{$^{\dagger 1,3}$} &  \\" in lines
    assert lines[lines.index(r"\bottomrule") - 2] == r"\midrule"  # above the foot
    assert r"\caption{d\_1.tsv: 5 \% of a\_b \& $R^2$}" in lines
    assert lines.count(r"\label{tab:x}") == lines.count(r"\label{tab:x-2}") == 1
    assert lines.count(r"m\_1: a|\allowbreak b") == 1  # below the first table only


def test_wide_tables_go_over_both_columns() -> None:
    wide = Sheet("", [str(i) for i in range(9)], [["1"] * 9])
    assert wide.to_latex().startswith(r"\begin{table*}")
    assert wide.to_latex().endswith(r"\end{table*}")


def test_data_begin_the_caption_and_signatures_stand_below() -> None:
    assert markdown_tables([Sheet("", ["a"], [["1"]])], data="d.tsv", signatures={"m": "s"}).split("\n\n")[1:] == [
        "d.tsv",
        "m: s\n",
    ]
