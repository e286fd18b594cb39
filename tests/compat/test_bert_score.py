"""bsx.compat.bert_score beside bert-score 0.3.13: the same calls, the same figures, the same lines."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import json
import math
import os
import re
import subprocess
import sys
import unittest
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch

import bsx
from bsx.cli.bert_score import call
from bsx.compat import bert_score as compat
from bsx.errors import InputError
from tests.conftest import Model

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import bert_score

CANDIDATES = ["The cat sat on the mat.", "A young woman walked", "they had the money and the time"]
REFERENCES = ["the dog sat on a mat", "the old man walked slowly", "the city had water"]
SEVERAL = [[first, second] for first, second in zip(REFERENCES, reversed(REFERENCES), strict=True)]
BASELINE = "LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.25,0.22\n2,0.3,0.35,0.32\n3,0.4,0.45,0.42\n"
TOLERANCE = 1e-5  # fp32: other kernels and batches


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The peer warns of what it calls; and pictures are shown to nobody."""
    with warnings.catch_warnings(), mpl.rc_context({"backend": "agg"}):
        warnings.simplefilter("ignore")
        yield


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(torch.stack(ours).numpy(), torch.stack(theirs).numpy(), atol=TOLERANCE)


def plain(line: str) -> str:
    """Cut the version of the package out of a line of settings."""
    return re.sub(r"version=[\d.]+(\+bsx\.[\d.]+)?\(", "version=(", line)


@pytest.fixture
def folder(tiny_model: Model) -> str:
    return tiny_model("bert")


CASES: list[dict[str, Any]] = [
    {},
    {"idf": True, "idf_sents": REFERENCES},
    {"all_layers": True},
    {"rescale_with_baseline": True, "lang": "en", "baseline_path": "b.csv"},
    {"rescale_with_baseline": True, "lang": "en", "baseline_path": "b.csv", "use_fast_tokenizer": True, "idf": True}
    | {"idf_sents": SEVERAL[0]},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case) or "plain")
def test_the_scorer_is_theirs(
    case: dict[str, Any], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.csv").write_text(BASELINE)
    settings = {"model_type": folder, "num_layers": 2, "nthreads": 0, **case}
    ours, theirs = compat.BERTScorer(**settings), bert_score.BERTScorer(**settings)
    given: list[Any] = [REFERENCES] if "all_layers" in case else [REFERENCES, SEVERAL]
    for references in given:
        both: Any = ours.score(CANDIDATES, references, return_hash=True)
        got, line = both
        assert {(figure.dtype, figure.shape[-1]) for figure in got} == {(torch.float32, len(CANDIDATES))}
        want, other = theirs.score(CANDIDATES, references, batch_size=1, return_hash=True)
        close(got, want)
        assert plain(str(line)) == plain(other)
        assert f"version={compat.__version__}(" in str(line)
    for name in ("model_type", "num_layers", "lang", "idf", "rescale_with_baseline", "use_fast_tokenizer", "device"):
        assert getattr(ours, name) == getattr(theirs, name), name
    if "lang" in case:
        assert torch.allclose(ours.baseline_vals, theirs.baseline_vals)
    assert plain(repr(ours)) == plain(repr(theirs))


def test_idf_is_counted_anew_with_a_warning_or_missed(folder: str) -> None:
    ours = compat.BERTScorer(folder, 2, idf=True)
    with pytest.raises(bsx.InputError, match="IDF weights are not computed"):
        ours.score(CANDIDATES, REFERENCES)
    ours.compute_idf(CANDIDATES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.warns(UserWarning, match="Overwriting"):
            ours.compute_idf(REFERENCES)
    theirs = bert_score.BERTScorer(folder, 2, idf=True, idf_sents=REFERENCES, nthreads=0)
    close(ours.score(CANDIDATES, REFERENCES), theirs.score(CANDIDATES, REFERENCES, batch_size=1))
    unused = compat.BERTScorer(folder, 2, idf_sents=REFERENCES)  # as there: weights do not count without idf=True
    close(unused.score(CANDIDATES, REFERENCES), compat.score(CANDIDATES, REFERENCES, folder, 2))


@pytest.mark.parametrize("rescale", [False, True])
def test_the_picture_shows_the_same_matrix(
    folder: str, tmp_path: Path, rescale: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from matplotlib import pyplot

    Path(tmp_path / "b.csv").write_text(BASELINE)
    settings: dict[str, Any] = {"model_type": folder, "num_layers": 2}
    if rescale:
        settings |= {"lang": "en", "rescale_with_baseline": True, "baseline_path": str(tmp_path / "b.csv")}
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf().axes[0]))
    compat.plot_example(CANDIDATES[0], REFERENCES[0], **settings)
    bert_score.plot_example(CANDIDATES[0], REFERENCES[0], **settings)
    ours, theirs = shown
    pictures = [np.asarray(axes.images[0].get_array()) for axes in shown]
    np.testing.assert_allclose(pictures[0], pictures[1], atol=TOLERANCE)
    for part in ("xticklabels", "yticklabels"):
        labels = [[label.get_text().strip() for label in getattr(axes, f"get_{part}")()] for axes in shown]
        assert labels[0] == labels[1]
    assert [text.get_text() for text in ours.texts] == [text.get_text() for text in theirs.texts]
    assert ours.get_title() == theirs.get_title()
    pyplot.close("all")
    scorer = compat.BERTScorer(**settings, all_layers=True, idf=True)  # neither matters to a picture
    scorer.plot_example(CANDIDATES[0], REFERENCES[0], fname=str(tmp_path / "x.png"))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.endswith(f"Saved figure to file:  {tmp_path / 'x.png'}\n")
    with pytest.raises(bsx.InputError, match="no content to align"):
        scorer.plot_example("", "a")
    monkeypatch.setattr("bsx.compat.bert_score.scorer._MOST_CELLS", 1)
    with pytest.raises(bsx.InputError, match="at most 1 are drawn"):
        scorer.plot_example(CANDIDATES[0], REFERENCES[0], fname=str(tmp_path / "y.png"))
    assert not (tmp_path / "y.png").exists()


def test_the_tables_are_theirs() -> None:
    theirs = bert_score.utils
    assert {name: compat.model2layers[name] for name in theirs.model2layers} == theirs.model2layers
    find = bsx.load_registry().model  # by any of its names: ours has no owner in front
    assert {lang: find(compat.lang2model[lang]) for lang in theirs.lang2model} == {
        lang: find(model) for lang, model in theirs.lang2model.items()
    }
    assert compat.lang2model["fr"] == copy.copy(theirs.lang2model)["fr"] == "bert-base-multilingual-cased"
    assert "nosuch/model" not in compat.model2layers
    assert compat.lang2model.get("nosuch") is None
    own = copy.copy(theirs.lang2model)  # a look-up would add to it
    for lang in ("nosuch", "xx", *own.copy(), "fr"):  # word for word, owners included
        assert compat.lang2model[lang] == own[lang]
    assert set(theirs.model2layers) <= set(compat.model2layers)
    assert compat.utils.lang2model is compat.lang2model


FUNCTIONS = ("bert_cos_score_idf", "get_hash", "get_idf_dict", "get_model", "get_tokenizer", "sent_encode")


def test_every_name_has_its_arguments() -> None:
    pairs: list[tuple[Any, Any]] = [(compat.BERTScorer.__init__, bert_score.BERTScorer.__init__)]
    pairs += [(getattr(compat, name), getattr(bert_score, name)) for name in ("score", "plot_example")]
    pairs += [(getattr(compat.utils, name), getattr(bert_score.utils, name)) for name in FUNCTIONS]
    for ours, theirs in pairs:
        assert [*inspect.signature(ours).parameters] == [*inspect.signature(theirs).parameters], ours
    assert all(getattr(compat, name) is getattr(compat.utils, name) for name in (*FUNCTIONS, "lang2model"))
    wanted = {name for name in vars(bert_score.BERTScorer) if not name.startswith("__")}
    assert wanted <= set(dir(compat.BERTScorer))


def test_what_a_program_writes_into_the_tables_counts(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compat.model2layers, folder, 1)
    monkeypatch.setitem(compat.lang2model, "xx", folder)
    scorer = compat.BERTScorer(lang="XX")
    assert (scorer.model_type, scorer.num_layers) == (folder, 1)
    close(scorer.score(CANDIDATES, REFERENCES), compat.score(CANDIDATES, REFERENCES, folder, 1))
    monkeypatch.undo()
    with pytest.raises(bsx.UnknownNameError):
        compat.BERTScorer(lang="xx")


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "t5"])
@pytest.mark.parametrize("all_layers", [False, True])
def test_the_functions_below_are_theirs(tiny_model: Model, family: str, all_layers: bool) -> None:
    model_name, peer = tiny_model(family), bert_score.utils
    tokenizer = compat.get_tokenizer(model_name)
    model = compat.get_model(model_name, 2, all_layers)
    weights: defaultdict[Any, float] = defaultdict(
        lambda: 1.0, {tokenizer.sep_token_id: 0.0, tokenizer.cls_token_id: 0.0}
    )
    texts = [*CANDIDATES, *REFERENCES]
    for text in texts:
        assert compat.sent_encode(tokenizer, text) == peer.sent_encode(tokenizer, text)
    found = compat.bert_cos_score_idf(model, REFERENCES, CANDIDATES, tokenizer, weights, all_layers=all_layers)
    alone = []  # one by one: their padding can win
    for pair in zip(REFERENCES, CANDIDATES, strict=True):
        first, second = ([text] for text in pair)
        alone.append(
            peer.bert_cos_score_idf(model, first, second, tokenizer, weights, device="cpu", all_layers=all_layers)
        )
    torch.testing.assert_close(found, torch.cat(alone, dim=1 if all_layers else 0), atol=TOLERANCE, rtol=0)


def test_blank_and_weightless_pairs_are_0(tiny_model: Model) -> None:
    folder = tiny_model("mbart")
    model, tokenizer = compat.get_model(folder, 0), compat.get_tokenizer(folder)
    texts, others = [*CANDIDATES, " "], [*REFERENCES, "x"]
    found = compat.bert_cos_score_idf(model, others, texts, tokenizer, {}, batch_size=2)
    assert found[-1].tolist() == [0, 0, 0]
    assert (found[:-1] != 0).all()
    assert not compat.bert_cos_score_idf(model, others, texts, tokenizer, defaultdict(float)).any()


@pytest.mark.parametrize("all_layers", [False, True])
def test_model_and_tokenizer_of_the_scorer_are_read(all_layers: bool, folder: str) -> None:
    ours, theirs = (module.BERTScorer(folder, 2, all_layers=all_layers) for module in (compat, bert_score))
    before: Any = ours.score(CANDIDATES, REFERENCES)
    assert (ours._model is ours._model, ours._tokenizer is ours._tokenizer) == (True, True)
    ids = ours._tokenizer(CANDIDATES[:1], return_tensors="pt")
    with torch.no_grad():
        got, want = (scorer._model(**ids, output_hidden_states=True)[-1] for scorer in (ours, theirs))
    torch.testing.assert_close(got, want, atol=TOLERANCE, rtol=0)
    close(ours.score(CANDIDATES, REFERENCES), before)  # looking changes nothing
    for name in ("_model", "_tokenizer", "idf", "lang", "model_type", "num_layers", "rescale_with_baseline"):
        with pytest.raises(AttributeError):
            setattr(ours, name, None)
    ours._tokenizer.model_max_length += 1  # no text is cut there
    close(ours.score(CANDIDATES, REFERENCES), before)
    ours._tokenizer.model_max_length = 4
    with pytest.raises(InputError, match="model_max_length"):
        ours.score(CANDIDATES, REFERENCES)


@pytest.mark.parametrize(
    "weights", [{5: math.nan}, {5: math.inf}, {5: -1.0}, {"x": 1.0}, {5: "y"}, defaultdict(lambda: math.nan, {5: 1.0})]
)
def test_weights_that_nothing_can_be_weighed_by_are_refused(weights: Any, folder: str) -> None:
    with pytest.raises(InputError, match="idf"):
        compat.score(CANDIDATES, REFERENCES, folder, 2, idf=weights)


def test_weights_that_are_assigned(folder: str) -> None:
    scorer = compat.BERTScorer(folder, 2, idf=True)
    assert scorer._idf_dict is None
    scorer._idf_dict = {5: 2.0}
    assert dict(scorer._idf_dict or {}) == {5: 2.0}
    close(scorer.score(CANDIDATES, REFERENCES), compat.score(CANDIDATES, REFERENCES, folder, 2, idf={5: 2.0}))


WITHOUT_TORCH = """
import json, sys
for name in ("torch", "transformers", "safetensors", "sentencepiece"):
    sys.modules[name] = None
import bsx
from bsx.cli.bert_score import call
from bsx.compat.bert_score import BERTScorer, score, bert_cos_score_idf, lang2model

said = []
scorer = BERTScorer("minilm")
given = (["a b"], ["a c"])
for attempt in (
    lambda: score(*given, "minilm"), lambda: scorer.score(*given), lambda: scorer._model, lambda: scorer._tokenizer
):
    try:
        attempt()
    except bsx.MissingExtraError as error:
        said.append(str(error))
status = call(["-c", "a b", "-r", "a c", "-m", "minilm"])
print(json.dumps([said, status, [float(x[0]) for x in scorer.arrays(["a b"], ["a c"])], lang2model["xx"]]))
"""


@pytest.mark.usefixtures("any_backend")
def test_an_installation_without_torch_scores_or_says_what_is_missing() -> None:
    pytest.importorskip("onnxruntime")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    printed, content = done.stdout.splitlines()
    said, status, figures, model = json.loads(content)
    assert len(said) == 4
    assert all("torch" in line and "pip install" in line and "\n" not in line for line in said)
    assert status == 0
    assert figures == pytest.approx([float(one[0]) for one in compat.score(["a b"], ["a c"], "minilm")], abs=TOLERANCE)
    assert [float(number) for number in re.findall(r": (\d\.\d{6})", printed)] == pytest.approx(figures, abs=1e-6)
    assert model == "bert-base-multilingual-cased"


def test_weights_and_models_of_ones_own_are_theirs(folder: str) -> None:
    tokenizer = compat.get_tokenizer(folder)
    ours = compat.get_idf_dict(REFERENCES, tokenizer)
    theirs = bert_score.utils.get_idf_dict(REFERENCES, bert_score.utils.get_tokenizer(folder), nthreads=0)
    assert dict(ours) == pytest.approx(dict(theirs))
    assert ours[-7] == pytest.approx(theirs[-7])  # an id that no text holds
    close(
        compat.score(CANDIDATES, REFERENCES, folder, 2, idf=ours),
        bert_score.score(CANDIDATES, REFERENCES, folder, 2, idf=theirs, batch_size=1),
    )
    ids = tokenizer(CANDIDATES[:1], return_tensors="pt")
    with torch.no_grad():
        for layer in (1, 3):
            got, want = (module.get_model(folder, layer)(**ids)[0] for module in (compat, bert_score.utils))
            torch.testing.assert_close(got, want, atol=TOLERANCE, rtol=0)
    assert compat.get_model(folder, 1, all_layers=True)(**ids)[0].requires_grad
    with pytest.raises(bsx.InputError, match="too deep"):
        compat.get_model(folder, 9)


def test_the_tokenizer_puts_the_space_that_scores_are_computed_with(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entry = tmp_path / "models" / "spaced.yaml"
    entry.parent.mkdir()
    entry.write_text(
        f"name: spaced\nfamily: roberta\nlicence: none\nsource: {{path: {tiny_model('roberta')}}}\nlanguages: [en]\n"
        "layers: 3\nlayer: unvalidated\nevidence: []\ndimensions: 32\nmax_tokens: 64\nleading_space: true\n"
    )
    monkeypatch.setenv("BSX_REGISTRY", str(tmp_path))
    scorer = bsx.Scorer(model="spaced", layer=2)
    assert scorer.tokenizer.leading_space
    counted = scorer.count_idf(REFERENCES)
    assert dict(compat.get_idf_dict(REFERENCES, compat.get_tokenizer("spaced"))) == dict(counted.weights)


def test_an_unknown_model_is_scored_with_the_layer_by_rule_unless_one_is_given(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = bsx.Scorer(model=folder)
    rule = own.metric.rule
    assert rule is not None
    assert compat.BERTScorer(model_type=folder).num_layers == own.layers[0] == rule.layer(own.depth)
    for layer, expected in ((None, own), (1, bsx.Scorer(model=folder, layer=1))):
        ours: Any = compat.score(CANDIDATES, REFERENCES, model_type=folder, num_layers=layer, verbose=True)
        np.testing.assert_allclose(ours[2].numpy(), expected.score(CANDIDATES, REFERENCES).f1, atol=TOLERANCE)
        assert (rule.note in capsys.readouterr().err) == (layer is None)


def test_what_is_said(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    weights = {1: 1.0}
    for idf, first in ((False, None), (True, "preparing IDF dict..."), (weights, "using predefined IDF dict...")):
        compat.score(CANDIDATES, SEVERAL, model_type=folder, num_layers=1, verbose=True, idf=idf)
        said = capsys.readouterr()
        lines = said.out.splitlines()
        assert lines[:-1] == ([] if first is None else [first]) + ["calculating scores..."]
        assert re.fullmatch(r"done in \d+\.\d\d seconds, \d+\.\d\d sentences/sec", lines[-1])
        assert said.err.startswith("metric:bertscore|")
        assert "|layer:1/3|" in said.err
    with pytest.raises(bsx.BsxError, match="lang"):
        compat.score(CANDIDATES, REFERENCES, folder, 1, rescale_with_baseline=True)


def test_the_command_prints_their_lines(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bert_score_cli import score as peer

    monkeypatch.chdir(tmp_path)
    Path("c.txt").write_text("\n".join(CANDIDATES) + "\n")
    Path("r.txt").write_text("\n".join(REFERENCES) + "\n")
    Path("r2.txt").write_text("\n".join(reversed(REFERENCES)) + "\n")
    Path("b.csv").write_text(BASELINE)
    for line in (
        "-c c.txt -r r.txt -s",
        "-c c.txt -r r.txt r2.txt --idf --use_fast_tokenizer",
        "-c c.txt -r r.txt --lang en --rescale_with_baseline --baseline_path b.csv -s",
        "-c cat -r dog mat",
    ):
        words = [*line.split(), "-m", folder, "-l", "2", "-b", "1", "--nthreads", "0"]
        monkeypatch.setattr(sys, "argv", ["bert-score", *words])
        capsys.readouterr()
        peer.main()
        theirs = capsys.readouterr().out
        assert call(words) == 0
        ours = capsys.readouterr().out
        number = r"-?\d\.\d{6}"
        assert plain(re.sub(number, "#", ours)) == plain(re.sub(number, "#", theirs)), line
        figures = [[float(text) for text in re.findall(number, said)] for said in (ours, theirs)]
        np.testing.assert_allclose(figures[0], figures[1], atol=2 * TOLERANCE)


def test_the_command_ends_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bsx.cli.main import _status

    monkeypatch.chdir(tmp_path)
    Path("c.txt").write_text("a\nb\n")
    Path("r.txt").write_text("a\n")
    for line, complaint in {
        "-c c.txt -r r.txt -m minilm": "line counts differ",
        "-c nosuch.txt -r r.txt -m minilm": "nosuch.txt: there is no such file of candidates",
        "-c a -r b --idf -m minilm": "one pair of texts is no corpus",
        "-c c.txt -r c.txt": "which language the texts are in",
        "-c c.txt -r c.txt -m nosuch": "unknown model 'nosuch'",
        "-c c.txt": "the following arguments are required: -r/--ref",
        "-c c.txt -r c.txt --nosuch": "unrecognized arguments: --nosuch",
    }.items():
        monkeypatch.setattr(sys, "argv", ["bsx-bert-score", *line.split()])
        assert _status(call) == 2, line
        said = capsys.readouterr()
        assert complaint in said.err, line
        assert said.out == ""
        assert "Traceback" not in said.err
    assert call(["--help"]) == 0
    assert "--rescale_with_baseline" in capsys.readouterr().out


def theirs_with(module: object, swaps: dict[str, str]) -> unittest.TestSuite:
    """Return bert-score's own tests, of its repository at v0.3.13, on another module and with some words exchanged."""
    if not (clone := os.environ.get("BSX_BERT_SCORE")):
        pytest.skip("BSX_BERT_SCORE does not name a clone of the repository")
    found = unittest.TestSuite()
    for name in ("custom_assertions", "test_score_function", "test_scorer"):
        text = (Path(clone) / "tests" / f"{name}.py").read_text()
        for old, new in swaps.items():
            text = text.replace(old, new)
        spec = importlib.util.spec_from_loader(f"theirs_{name}", None)
        assert spec is not None
        loaded = importlib.util.module_from_spec(spec)
        text = text.replace("import bert_score\n", "").replace("from tests.custom", "from theirs_custom")
        loaded.__dict__["bert_score"] = module
        sys.modules[spec.name] = loaded
        exec(compile(text, f"{name}.py", "exec"), loaded.__dict__)  # noqa: S102 - their tests
        found.addTests(unittest.defaultTestLoader.loadTestsFromModule(loaded))
    return found


def passed(suite: unittest.TestSuite) -> int:
    result = unittest.TestResult()
    suite.run(result)
    assert [*result.failures, *result.errors] == []
    return result.testsRun - len(result.skipped)


@pytest.mark.hub
def test_their_own_tests_pass_with_roberta_large() -> None:
    assert passed(theirs_with(compat, {})) == 13


@pytest.mark.slow
def test_their_own_tests_pass_with_a_model_that_is_here(tmp_path: Path) -> None:
    """Their figures are roberta-large's; here each call is made of both packages, on MiniLM, and compared."""
    scorer = bsx.Scorer(model="minilm", rescale=True, lang="en")
    folder, baselines = str(scorer.metric.located.checkpoint.folder), scorer.metric.baselines
    assert baselines is not None
    table = tmp_path / "b.csv"
    rows = [",".join(map(repr, [i, *map(float, row)])) for i, row in enumerate(baselines.figures)]
    table.write_text("LAYER,P,R,F\n" + "\n".join(rows) + "\n")
    compared = []

    def peer_settings(settings: dict[str, Any]) -> dict[str, Any]:
        known = {"model_type": folder, "num_layers": 4, "nthreads": 0, "baseline_path": str(table)}
        return {**settings, **known, "batch_size": 1, "return_hash": False}

    def compare(ours: Any, candidates: list[str], references: list[Any], score: Callable[..., Any]) -> Any:
        if "" not in [*candidates, *(text for group in references for text in group)]:  # they crash on these
            close(ours[0] if isinstance(ours[1], str) else ours, score(candidates, references))
            compared.append(len(candidates))
        return ours

    def score(candidates: list[str], references: list[Any], **settings: Any) -> Any:
        settings = settings if "model_type" in settings else {**settings, "model_type": "minilm"}
        ours = compat.score(candidates, references, **settings)
        other = peer_settings(settings)
        return compare(ours, candidates, references, lambda c, r: bert_score.score(c, r, **other))

    class Twin:
        def __init__(self, **settings: Any) -> None:
            self.ours = compat.BERTScorer("minilm", **settings)
            known = {name: value for name, value in peer_settings(settings).items() if name != "return_hash"}
            self.theirs = bert_score.BERTScorer(**known)

        def score(self, candidates: list[str], references: list[Any], **settings: Any) -> Any:
            ours = self.ours.score(candidates, references, **settings)
            return compare(ours, candidates, references, lambda c, r: self.theirs.score(c, r, batch_size=1))

    module = SimpleNamespace(score=score, BERTScorer=Twin, __version__=compat.__version__)
    swaps = {"roberta-large": "minilm", "L17": "L4", "num_layers=17": "num_layers=4"}
    swaps["np.testing.assert_almost_equal("] = "type(actual) is list or np.testing.assert_almost_equal("
    assert passed(theirs_with(module, swaps)) == 13
    assert len(compared) == 13
