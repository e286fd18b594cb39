"""Public calls show their settings: to ``inspect.signature``, to editors and to type checkers, which refuse a typo."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

RIGHT = """
bsx.score(["a"], [["b", "c"], "d"])
bsx.score(("a",), np.array(["b"]))
bsx.score(pd.Series(["a"]), (text for text in "ab"))
bsx.Scorer(model=Path("model"), layer=1).score(["a"], pd.DataFrame({"a": ["b"]})["a"])
bsx.get_metric("chrf").score(["a"], ["b"]).to_frame().columns
bsx.score(["a"], ["b"]).to_frame().groupby("id").mean()
"""
TYPOS = """
bsx.score(3, 4)
bsx.score(["a"], [3])
bsx.Scorer(model="minilm").score([1.5], ["b"])
bsx.Scorer(model=3)
bsx.get_metric("chrf").score(None, ["b"])
bsx.scroe(["a"], ["a"])
bsx.analysis.meta_evalute
bsx.select_model("en", licnce="MIT")
bsx.select_model("en", prefer="best")
bsx.meta({}, levle="sys")
bsx.meta({}, level="system")
bsx.ensemble({}, hwo="z")
bsx.ensemble({}, folds="ten")
bsx.analysis.compute_factors("lex", ["a"], ["b"], parser_dri="x")
bsx.analysis.robustness(["a"], {}, sed=1)
bsx.analysis.detect_pairs([1.0], [True], sed=1)
bsx.get_metric("bleu").signatur()
bsx.score(["a"], ["b"], laier=3)
bsx.score(["a"], ["b"], layer="three")
bsx.score(["a"], ["b"], specials="none")
bsx.Scorer(model="minilm", divice="cpu")
bsx.Scorer(model="minilm", batch_tokens="many")
bsx.Encoders(devise="cpu")
bsx.get_metrics("chrf", langs="en")
bsx.score_files(candidates=["a"], reference=3)
Bleu.__new__(Bleu).config.smoothing
bsx.detect_paraphrases(table="t.tsv", colums=["m"])
bsx.perturb(table="t.tsv", metrics=["chrf"], strengths="much")
bsx.compare(metrics=["chrf"], systms=["a"])
bsx.compare(metrics=["chrf"], all_pair=True)
bsx.compare(metrics=["chrf"]).to_htm()
bsx.compare(metrics=["chrf"]).to_frame(deep=True)
bsx.meta(table="t.tsv", colums=["chrf"])
bsx.analysis.load_data("stsb", lpp="de")
bert_score.score(["a"], ["b"], model_typ="minilm")
bert_score.BERTScorer("minilm", idf_sent=["a"])
bert_score.BERTScorer("minilm").baseline_val
bert_score.plot_exampel("a", "b")
bert_score.model2layers["minilm"].lower()
CorpusMetric("chrf", devise="cpu")
CorpusMetric("chrf").corpus_score(["a"], [["b"]]).scor
compute_metrics(None, "chrf", lnag="en")
"""
OF_A_FRAME = 'bsx.score(["a"], ["b"]).to_frame().nosuch_method()\n'  # of pandas mypy knows no types here


def public_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield every exported function, and the constructor and public methods of every exported class."""
    for face in ("bsx", "bsx.analysis"):
        package = importlib.import_module(face)
        for name in dir(package):
            value = getattr(package, name)
            if inspect.isclass(value):
                for method, function in inspect.getmembers(value, inspect.isfunction):
                    own = function.__module__.startswith("bsx") and function.__qualname__.startswith(value.__name__)
                    if own and (method == "__init__" or not method.startswith("_")):
                        yield f"{face}.{name}.{method}", function
            elif callable(value):
                yield f"{face}.{name}", value


FREE = {
    "bsx.get_metric(**settings)": "the metric that `spec` names says which settings there are",
    "bsx.analysis.get_factor(**settings)": "the factor that `spec` names says which settings there are",
    "bsx.analysis.JudgedTable.where(**values)": "the names are those of the table's columns",
}
"""Keywords that no type can list, and why."""


def test_no_public_call_hides_its_settings() -> None:
    hidden = {
        f"{name}(**{parameter.name})"
        for name, function in public_functions()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.VAR_KEYWORD
        and not str(parameter.annotation).removeprefix("typing.").startswith("Unpack[")
    }
    assert hidden == set(FREE)


CHECKERS = {
    "basedpyright": ["--pythonpath", sys.executable],
    "mypy": ["--no-error-summary", "--follow-imports=silent"],
}


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_type_checker_refuses_typos(checker: str, tmp_path: Path) -> None:
    file = tmp_path / "typos.py"
    head = "# pyright: basic\nimport bsx\nimport bsx.analysis\nfrom bsx.compat import bert_score\n"
    head += "from bsx.compat.corpus import CorpusMetric\nfrom bsx.compat.trainer import compute_metrics\n"
    head += "from bsx.metrics.lexical.bleu import Bleu\n"
    head += f"from pathlib import Path\nimport numpy as np\nimport pandas as pd{RIGHT}"
    file.write_text(head + TYPOS.lstrip() + OF_A_FRAME * (checker == "basedpyright"))
    command: list[str | Path] = [Path(sysconfig.get_path("scripts"), checker), *CHECKERS[checker], file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    refused = {int(line) for line in re.findall(r"typos\.py:(\d+):.*\berror\b", done.stdout)}
    lines = file.read_text().splitlines()
    passed = [lines[number - 1] for number in range(head.count("\n") + 1, len(lines) + 1) if number not in refused]
    assert not passed, f"accepted: {passed}\n{done.stdout}{done.stderr}"
    assert min(refused) > head.count("\n"), done.stdout
