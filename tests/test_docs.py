"""Every code block of README.md and docs/ runs and prints what the page shows; every relative link leads somewhere."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks import human_power
from bsx.analysis.meta.settings import MetaSettings
from tests.conftest import Outcome
from tests.helpers.browser import chromium
from tests.helpers.forks import Forks

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

CALIBRATION = ROOT / "benchmarks" / "calibration" / "results.md"

# Blocks of these languages are shown, not run; any other language is a mistake in the page.
SHOWN = {"text", "console", "yaml", "json"}
FENCE = re.compile(r"^(`{3,})(.*)$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    line: int
    language: str
    code: str

    @property
    def end(self) -> int:
        """The line of the closing fence."""
        return self.line + self.code.count("\n")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def split(page: Path) -> tuple[list[Block], str]:
    """Return a page's fenced blocks and the text around them, in which each line keeps its number."""
    blocks: list[Block] = []
    prose: list[str] = []
    inside: list[str] | None = None
    fence = language = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        mark = FENCE.match(line)
        if inside is None and mark is not None:
            inside, fence, language = [], mark[1], mark[2].strip()
        elif inside is not None and line.strip() == fence:
            blocks.append(Block(len(prose) - len(inside) + 1, language, "\n".join(inside) + "\n"))
            inside = None
        elif inside is not None:
            inside.append(line)
        prose.append("" if inside is not None or mark is not None else line)
    assert inside is None, f"{name(page)}: a code block is not closed"
    return blocks, "\n".join(prose)


def expected_status(code: str) -> int:
    first = re.match(r"# exits with (\d+)\s*$", code.partition("\n")[0])
    return int(first[1]) if first is not None else 0


@pytest.fixture(scope="session")
def programs() -> Iterator[list[str]]:
    """The folders of ``bsx`` and ``python``; the README's first block runs by the last alone, the program itself."""
    forks = Forks()
    yield [str(forks.folder), str(Path(sys.executable).parent)]
    forks.close()


def run_bash(block: Block, folder: Path, where: str, programs: list[str]) -> str:
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    output = f"{where} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == expected_status(block.code), output
    assert "Traceback" not in done.stderr, output
    return done.stdout + done.stderr


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> str:
    # Empty lines in front give a traceback the page's own line numbers.
    code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)  # noqa: S102 - our own documentation
    return printed.getvalue()


def check_output(shown: Block, printed: str, where: str) -> None:
    """Find each line of a block in what the block before it printed, in this order; … stands for anything."""
    lines = iter(printed.splitlines())
    for line in shown.code.splitlines():
        if line.strip() in {"", "…"}:
            continue
        pattern = ".*".join(re.escape(part) for part in re.split("…", line.rstrip()))
        assert any(re.fullmatch(pattern, other.rstrip()) for other in lines), (
            f"{where}: {line!r} is not, or not in this place, in what was printed:\n{printed}"
        )


def blocks_of_pages() -> list[Any]:
    """Return all pages; those that start many processes, but for the README, are part of ``make test-all``."""
    long = [page for page in PAGES if name(page) != "README.md" and "```bash" in page.read_text(encoding="utf-8")]
    return [pytest.param(page, marks=[pytest.mark.slow] * (page in long), id=name(page)) for page in PAGES]


@pytest.mark.parametrize("page", blocks_of_pages())
def test_code_blocks_run(page: Path, programs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    before: tuple[Block, str] | None = None
    real = name(page) == "README.md"
    for block in split(page)[0]:
        where = f"{name(page)}:{block.line}"
        assert block.language in SHOWN | {"python", "bash"}, f"{where}: what is a {block.language!r} block?"
        if before is not None and block.language == "text" and block.line - before[0].end == 3:
            check_output(block, before[1], where)
        before = None
        if block.language == "python":
            before = block, run_python(block, page, namespace)
        elif block.language == "bash":
            used, real = (programs[-1:], False) if real else (programs, False)
            before = block, run_bash(block, tmp_path, where, used)


# What this machine may lack: a model, a package in an environment of its own, a parser's files, a data set.
LACKING = re.compile(
    "is not on this machine|there is no interpreter|needs the package|there is no such folder of stanza models|"
    r"is not in \S+: (?:`bsx data get [\w-]+` fetches it|nobody publishes it in this form)"
)
# Not run here: what sets up an environment or downloads from a publisher, clusters (tests/cluster), and a model whose
# conversion takes long (tests/models/test_me5.py).
ELSEWHERE = re.compile(
    r"(pip|make|ssh|python3?(\.\d+)?|[a-z]+-env/bin/pip) |bsx data get |bsx ui\b|bsx convert (scores|compare)\.json|"
    r".* --engine ray |.* me5-small-q4$|.* sentence-qe |.* judge-qe:|"
    r"bsx meta --protocol"
)


def consoles() -> Iterator[tuple[str, str]]:
    """Yield (place, command) of the pages' ``console`` blocks, in which lines may continue."""
    for page in PAGES:
        for block in split(page)[0]:
            if block.language == "console":
                lines = block.code.replace("\\\n", " ").splitlines()
                marked = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
                for command in marked or lines:
                    if not ELSEWHERE.match(command):
                        yield f"{name(page)}:{block.line}", command


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small file for every name in the ``console`` blocks."""
    folder = tmp_path_factory.mktemp("world")
    left = ["the cat sat on the mat", "rain was slow", "a man walked home", "the old train", "a dog ran", "we saw it"]
    right = ["a cat is on the mat", "the rain", "the man went home", "an old train stood", "a dog", "it was seen"]
    # The README's first lines run in a clone.
    shutil.copytree(Path(__file__).parents[1] / "bsx" / "examples", folder / "bsx" / "examples")

    def table(file: str, *rows: Sequence[object]) -> None:
        lines = ["\t".join(map(str, row)) for row in rows]
        (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")

    names = ("lp", "candidate", "reference", "source", "human", "sentence1", "sentence2", "anchor", "paraphrase")
    judged = [("lt-en", c, r, c, i % 4, c, r, c, r) for i, (c, r) in enumerate(zip(left * 5, right * 5, strict=True))]
    for file in ("pairs", "wmt16", "daseg-wmt16"):
        table(f"{file}.tsv", names, *judged)
    swapped = [(text, " ".join(reversed(text.split())), 0) for text in left]
    paraphrases = [(r, c, 1) for c, r in zip(left, right, strict=True)]
    table("paws-wiki-test.tsv", ("sentence1", "sentence2", "label"), *swapped, *paraphrases)
    for file in ("subj_number", "tree_depth"):
        table(f"{file}.txt", *((f"word{i % 24} {text}", "AB"[i % 2]) for i, text in enumerate(left * 12)))
    for file, texts in (("first", left), ("second", right)):
        trees = [
            "".join(f"{i}\t{word}" + "\t_" * 4 + f"\t{i - 1}\tdep\t_\t_\n" for i, word in enumerate(text.split(), 1))
            for text in texts * 5
        ]
        (folder / f"{file}.conllu").write_text("\n".join(trees) + "\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_console_commands_run_as_far_as_this_machine_goes(
    world: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    ran, wrong = 0, []
    for place, command in consoles():
        words = shlex.split(command)
        assert words[0] == "bsx", f"{place}: {command}: say in ELSEWHERE why it is not run"
        done = cli(*words[1:])
        ran += done.status == 0
        if done.status and not (done.status == 2 and LACKING.search(done.err)):
            wrong.append(f"{place}: {command}\nended with {done.status}: {done.err}")
    assert not wrong, "\n".join(wrong)
    assert ran >= 6


@functools.cache
def hooks() -> list[Callable[..., str]]:
    """Return what fills the marks of pages while the documentation is built."""
    listed = re.findall(r"^  - (tools/\w+\.py)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    found = [runpy.run_path(str(ROOT / name)) for name in listed]
    return [module["on_page_markdown"] for module in found if "on_page_markdown" in module]


@functools.cache
def built(page: Path) -> str:
    """Return a page's text around its blocks, with its generated parts."""
    prose = split(page)[1]
    if "<!-- " in prose and page.is_relative_to(ROOT / "docs"):
        named = SimpleNamespace(file=SimpleNamespace(src_uri=page.relative_to(ROOT / "docs").as_posix()))
        for hook in hooks():
            prose = hook(prose, page=named)
    return prose


def test_every_mark_is_filled() -> None:
    """But those of sections that a script writes into the page: begun and ended by a mark each."""
    for page in (ROOT / "docs").rglob("*.md"):
        text = built(page)
        marks = set(re.findall(r"<!-- ([\w-]+) -->", text))
        assert {mark for mark in marks if f"<!-- /{mark} -->" not in text} == set(), name(page)


def test_every_metric_has_a_section_with_its_settings() -> None:
    from bsx.catalog.catalog import shipped
    from bsx.metrics.base import find_metric

    parts = re.split(r"^### .* \{#(.*)\}$", built(ROOT / "docs" / "reference" / "metrics.md"), flags=re.MULTILINE)[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    assert sections.keys() == shipped().metrics.keys()
    for name, text in sections.items():
        kind, entry = find_metric(name, shipped())
        assert entry.citation in text
        shared = re.search(r"Settings are those of \[`(.*)`\]", text)
        said = text + ("" if shared is None else sections[shared[1]])
        assert {field for field in kind.Config.model_fields if f"| `{field}` |" not in said} == set(), name


def heading_anchors(prose: str) -> set[str]:
    titles = re.findall(r"^#+\s+(.*)$", prose, flags=re.MULTILINE)
    given = {match[1] for title in titles if (match := re.search(r"\{#(.*)\}$", title))}
    plain = [re.sub(r"[^\w\s-]", "", title.lower()).strip() for title in titles]
    return {re.sub(r"\s+", "-", title) for title in plain} | given


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    prose = built(page)
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", prose)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if file.parent == page.with_suffix(""):
            continue  # a page that is made while the documentation is built
        assert file.exists(), f"{name(page)}: links to {target}, which does not exist"
        if anchor and file.suffix == ".md":
            assert anchor in heading_anchors(built(file)), f"{name(page)}: {path or 'this page'} has no #{anchor}"


def test_readme_shows_every_folder_and_notebook_and_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(\w+)/ {2,}\S", readme, re.MULTILINE)
    folders = {"bsx", "analysis", "registry", "docs", "notebooks", "tests", "benchmarks", "tools", "recipe"}
    assert set(shown) == {folder for folder in folders if (ROOT / folder).is_dir()}
    linked = re.findall(r"^\| \[(\w+)\]\(notebooks/\1\.ipynb\) \| \S", readme, re.MULTILINE)
    assert linked == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    diagram = next(block.code for block in split(ROOT / "README.md")[0] if "▼" in block.code)
    places = set(re.findall(r"\b(?:bsx|analysis)/[\w/.]*", diagram))
    assert len(places) > 5
    assert all((ROOT / place).exists() for place in places)
    assert "make demo" in readme
    assert "make test" in readme


def test_every_page_is_in_the_navigation() -> None:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    missing = [page for page in pages if not re.search(rf"[ :]{re.escape(page)}$", configuration, flags=re.MULTILINE)]
    assert not missing


def test_every_page_says_at_its_head_what_one_gets() -> None:
    """A title, and a paragraph below it: no heading, list, table, picture or block of code."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        title, _, rest = page.read_text(encoding="utf-8").partition("\n\n")
        assert re.fullmatch(r"# .+", title), f"{name(page)}: no title"
        assert re.match(r"(?!\d+\. |- |!\[)[\w`*\[(].{40}", rest), (
            f"{name(page)}: begins without a word about itself: {rest[:60]!r}"
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built website."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_documentation_builds_strictly(site: Path) -> None:
    assert (site / "models" / "choose.html").is_file()
    # Search works in pages that are opened from files, without a server and without a network.
    found = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert found.startswith("var __index = {")
    assert "score/compare.html" in found
    start = (site / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<script src="([^"]+)"', start)[0] == "assets/iframe-worker.js"
    assert not re.search(
        r"<(?:script|img|iframe)[^>]+src=\"https?:|<link[^>]+rel=\"(?:stylesheet|preconnect)\"[^>]+https?:", start
    )
    made = {
        "cli": "bsx adversarial perturb",
        "bsx": "bsx.Scorer",
        "analysis": "bsx.analysis.compare_systems",
    }
    for page, heading in made.items():
        folder = site / "reference" / page
        texts = {file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.html")}
        listed = folder.with_suffix(".html").read_text(encoding="utf-8")
        assert all(f"{page}/{file}" in listed for file in texts), f"reference/{page}.md does not list its pages"
        assert any(heading in text for text in texts.values()), f"reference/{page} is not made by tools/references.py"
        assert not any("<blockquote>" in text for text in texts.values()), f"an example of {page} is a quotation"
    analysis = (site / "reference" / "analysis" / "meta.html").read_text(encoding="utf-8")
    assert (MetaSettings.model_fields["resamples"].description or "none") in analysis, (
        "settings are not shown as keywords"
    )


# What somebody types into the search of the website, and the page that answers.
QUESTIONS = {
    "choose a model for Swahili": "models/choose.html",
    "what does the SEM coefficient mean": "explain/disentangling.html",
    "GPU": "scale/gpu.html",
    "how to cite": "index.html",
    "p-value": "evaluate/meta-evaluation.html",
    "own data": "score/evaluate.html",
    "which metric for Chinese": "models/languages.html",
    "is the difference significant": "score/compare.html",
    "add a metric": "extend/add-a-metric.html",
    "offline": "start/install.html",
    "LaTeX": "evaluate/tables.html",
}


@pytest.mark.slow
def test_the_search_has_the_page_that_answers_first(site: Path) -> None:
    """The website's own search, in pages opened from files; the sections of a page are one result."""
    found = {}
    with chromium() as browser:
        page = browser.new_page()
        page.goto((site / "index.html").as_uri())
        box, results = page.locator(".md-search__input"), page.locator(".md-search-result__item")
        for question in QUESTIONS:
            for words in ("", question):  # emptied in between, so that no result is that of the question before
                box.fill(words)
                box.press("End")  # the search reads what was typed as a key is released
                results.first.wait_for(state="visible" if words else "detached")
            link = results.first.locator("a").first.evaluate("link => link.href")
            found[question] = re.split("[?#]", link.removeprefix(f"{site.as_uri()}/"))[0]
    assert found == QUESTIONS


def test_the_variables_that_tests_read_are_named_in_one_place() -> None:
    pattern = re.compile(r"""(?:environ\.get\(|environ\[|interpreter\()["']((?:BSX|CI)_[A-Z_]+)["']""")
    told = (ROOT / "docs" / "extend" / "maintain.md").read_text(encoding="utf-8")
    read = {name for file in (ROOT / "tests").rglob("*.py") for name in pattern.findall(file.read_text("utf-8"))}
    users = {"BSX_BACKEND", "BSX_CACHE", "BSX_DATA", "BSX_REGISTRY"}  # set by the tests themselves
    assert {"BSX_COMET_PYTHON", "BSX_LASER_PYTHON"} <= read
    assert {name for name in read - users if f"`{name}" not in told} == set()


def test_the_readme_counts_what_the_registry_has() -> None:
    from bsx.catalog.catalog import shipped
    from bsx.catalog.languages import count_languages

    models, languages = len(shipped().models), count_languages(shipped().languages)
    chosen = sum(bool(model.evidence) for model in shipped().models.values())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    counted = f"{models} models, {languages} languages; the layer of {chosen} models is chosen by evidence"
    assert counted in " ".join(readme.split())
    offline = count_languages(shipped().models["me5-small-q4"].languages)
    assert f'`bsx.Scorer(model="me5-small-q4")` scores [{offline} languages]' in readme
    words = {6: "six", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve"}
    published = words[len(list((ROOT / "benchmarks" / "published").glob("*.yaml")))]
    assert f"of {published} publications are recomputed" in " ".join(readme.split())
    assert f"[{words[len(list((ROOT / 'notebooks').glob('*.ipynb')))]} notebooks](notebooks)" in readme
    others = shipped().metrics.keys() - {"bertscore"}  # as `bsx metrics` counts them
    for page in (readme, (ROOT / "docs" / "index.md").read_text(encoding="utf-8")):
        assert f"{len(others)} other metrics" in page


@pytest.mark.parametrize("name", ["README.md", "docs/explain/disentangling.md", "docs/explain/factors.md"])
def test_coefficients_of_observed_rows_are_not_called_causes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    said = re.findall(r"(?i)\b(?:rewards?|punish(?:es)?|penalises?|drives|influences?|because it sees)\b.{0,30}", text)
    assert [words for words in said if not words.startswith("reward shared words, LEX is in SEM")] == []


def calibration(heading: str) -> dict[str, dict[str, float]]:
    """Return a table of the calibration: row -> column -> figure, without its Monte-Carlo error."""
    text = CALIBRATION.read_text(encoding="utf-8").partition(f"### {heading}\n")[2]
    lines = [line for line in text.partition("\n#")[0].splitlines() if line.startswith("|")]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: {c: float(x.split(" ±")[0]) for c, x in zip(head, row, strict=True) if " ±" in x} for row in rows}


def between(figures: Iterable[float]) -> tuple[int, int]:
    """Return the lowest and the highest figure in per cent."""
    found = [round(100 * figure, 6) for figure in figures]
    return round(min(found)), round(max(found))


def test_figures_of_the_evaluation_pages_are_those_of_the_calibration() -> None:
    def pages(name: str) -> str:
        return " ".join((ROOT / "docs" / "evaluate" / f"{name}.md").read_text(encoding="utf-8").split())

    page = pages("meta-evaluation")
    few = [row for name, row in calibration("Coverage of intervals of Pearson's r").items() if name[:9] == "8 systems"]
    few = [row for row in few if row["Fisher"] < 0.9]  # those with an outlier or heavy tails
    assert len(few) == 4
    low, high = between(row["default"] for row in few)
    assert f"it holds the truth in {low} to {high} % of simulated data sets" in page
    low, high = between(row["Fisher"] for row in few)
    assert f"and Fisher's interval in {low} to {high} %" in page
    rows = calibration("Metrics: rows that come from documents")
    plain = [row for name, row in rows.items() if name.endswith("documents, Pearson")]
    low, high = between(row["size, by itself"] for row in plain)
    assert f"differ significantly in {low} to {high} % of simulated data sets instead of 5 %" in page
    low, high = between(row["coverage, by itself"] for row in plain)
    assert f"the 95 % interval of r holds the truth in {low} to {high} %" in page
    text = CALIBRATION.read_text(encoding="utf-8")
    cells = re.findall(r"\| (?:PERM-BOTH|acc_eq, pairs) \(mt-metrics-eval\) \| (0\.[2-9]\d*)", text)
    low, high = between(map(float, cells))
    assert len(cells) == 2
    assert f"between equally good metrics in {low} to {high} % of simulated data sets" in page

    page = pages("plan")
    studies = [calibration(name) for name in ("Two systems", "Two metrics")]
    pilots = [row for study in studies for name, row in study.items() if name.startswith("pilot")]
    low, high = between(row["power"] for row in pilots)
    assert f"for a power of .80, the power was .{low} to .{high}" in page
    systems, metrics = (between(r["interval of n"] for r in t.values() if "interval of n" in r) for t in studies)
    assert f"in {systems[0]} to {systems[1]} % of pilots for `bsx plan compare`" in page
    assert f"in {metrics[0]} to {metrics[1]} % for `bsx plan meta`" in page
    ignored = studies[0]["stated: documents of 8, ICC .2"]["power, documents ignored"]
    assert f"its power is .{round(100 * ignored)} instead of .80" in page


def test_the_bound_on_unread_errors_is_that_of_scipy() -> None:
    page = ROOT / "docs" / "evaluate" / "error-free.md"
    (block,) = (one for one in split(page)[0] if one.language == "python")
    namespace: dict[str, Any] = {}
    run_python(block, page, namespace)
    for n, wrong in ((1, 0), (20, 0), (40, 3), (40, 39), (5, 5)):
        exact = binomtest(wrong, n, alternative="less").proportion_ci(0.95, method="exact").high
        assert namespace["upper"](np.repeat([1.0, 0.0], [wrong, n - wrong])) == pytest.approx(exact, rel=1e-9)
    documents = {*namespace["chosen_on"].document}, {*namespace["judged_on"].document}
    assert documents[0].isdisjoint(documents[1])


def test_the_count_of_published_figures_is_that_of_the_committed_run() -> None:
    page = (ROOT / "docs" / "evaluate" / "reproduce.md").read_text(encoding="utf-8")
    run = (ROOT / "benchmarks" / "agreement" / "reproduced.md").read_text(encoding="utf-8")
    said = re.findall(r"^[\d,]+ of [\d,]+ published figures .*$", run, re.M)
    assert said
    assert re.findall(r"^[\d,]+ of [\d,]+ published figures .*$", page, re.M) == said


@pytest.mark.slow
@pytest.mark.parametrize("lp", ["cs-en", "ru-en", "iu-en", "km-en"])
def test_the_table_of_studies_is_what_the_script_makes(lp: str) -> None:
    data = ROOT.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip("the evaluation data (../shared/data) is not here")
    page = (ROOT / "docs" / "evaluate" / "plan.md").read_text(encoding="utf-8")
    cells = ["no documents" if cell == "nan" else cell for cell in human_power.figures(data, lp)]
    assert f"| {lp} | {' | '.join(cells)} |" in page
