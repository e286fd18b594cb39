"""CoNLL-U, parse caches, parsers, the distance of trees, and `bsx factors` on tiny files."""

# ruff: noqa: S311

from __future__ import annotations

import itertools
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsx.analysis.factors.base import SentencePairs
from bsx.analysis.factors.crosslingual import cross_lingual_bias
from bsx.analysis.factors.parsers import StanzaParser
from bsx.analysis.factors.parses import Parse, ParseCache, match_parses, read_conllu
from bsx.analysis.factors.syntax import syn, syn_scores, tree_edit_distance
from bsx.analysis.factors.zoo import compute_factors, get_factor, get_factors
from bsx.catalog.catalog import load_registry
from bsx.errors import InputError, ModelUnavailableError, RegistryError
from tests.conftest import Cli
from tests.helpers.tables import read_rows

Write = Callable[[str, str], Path]
START = "import numpy as np\nfrom bsx.analysis.factors.base import Factor, FactorConfig, FactorScores\n"
OWN = START + "class Own(Factor):\n    Config = FactorConfig\n    def compute(self, pairs, resources):\n"
LENGTH = OWN.replace("Own", "Length") + (
    "        sizes = zip(pairs.sentence1, pairs.sentence2)\n"
    "        return FactorScores(np.array([float(len(a) == len(b)) for a, b in sizes]), {})\n"
)


def conllu(*sentences: Sequence[tuple[str, int, str, str]]) -> str:
    """CoNLL-U text from (form, head, part of speech, features)."""
    blocks = []
    for words in sentences:
        rows = [
            f"{number}\t{form}\t_\t{tag}\t_\t{feats or '_'}\t{head}\tdep\t_\t_"
            for number, (form, head, tag, feats) in enumerate(words, start=1)
        ]
        blocks.append("\n".join(["# a comment", *rows]) + "\n")
    return "\n".join(blocks) + "\n"


BIRDS = [("Birds", 2, "NOUN", "Number=Plur"), ("sing", 0, "VERB", ""), (".", 2, "PUNCT", "")]
DOGS = [("Big", 2, "ADJ", ""), ("dogs", 3, "NOUN", "Number=Plur"), ("bark", 0, "VERB", ""), (".", 3, "PUNCT", "")]
STOP = [("Stop", 0, "VERB", ""), ("!", 1, "PUNCT", "")]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def made(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return made


def test_reading_with_ranges_and_empty_nodes(write: Write) -> None:
    rows = ["1-2\tzum\t_\t_\t_\t_\t_\t_\t_\t_", "1\tzu\t_\tADP\t_\t_\t3\t_\t_\t_", "2\tdem\t_\tDET\t_\t_\t3\t_\t_\t_"]
    rows += ["2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_", "3\tZug\t_\tNOUN\t_\tCase=Dat\t0\t_\t_\t_"]
    (sentence,) = read_conllu(write("a.conllu", "\n".join(rows)))
    assert sentence.surface == "zumZug"
    feats, relations = ("", "", "Case=Dat"), ("", "", "")
    assert sentence.parse == Parse(("zu", "dem", "Zug"), (3, 3, 0), ("ADP", "DET", "NOUN"), feats, relations)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tone\t2\n", "line 1 has 3 tab-separated fields"),
        ("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "line 1: the head of word 1 is '_'"),
        ("1\ta\t_\t_\t_\t_\t4\t_\t_\t_\n", "line 1: word 1 has head 4, the sentence 1 words"),
        ("2\ta\t_\t_\t_\t_\t0\t_\t_\t_\n", "line 1: word '2' stands where word 1 should"),
        ("# nothing\n\n", "holds no sentences"),
    ],
)
def test_malformed_files(write: Write, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_conllu(write("bad.conllu", text))


def test_parses_are_matched_with_texts(write: Write) -> None:
    file = write("p.conllu", conllu(BIRDS, STOP, DOGS))
    parses = match_parses(file, ["Birds  sing. Stop!", "", "Big dogs bark."], "sentence1")
    assert parses[0].heads == (2, 0, 2, 0, 4)
    assert parses[1].words == ()
    assert parses[2].without(lambda word, tag: tag == "PUNCT").heads == (2, 3, 0)
    for text, message in [
        ("Birds sing./Stop now!/Big dogs bark.", r"sentence 2 \(line 7\) does not match row 2 of .*'Stop !'"),
        ("Birds sing./Stop!", r"has 3 sentences, sentence1 needs only 2: sentence 3 \(line 11\)"),
        ("Birds sing./Stop!/Big dogs bark./More.", "ends after 3 sentences; row 4 of sentence1 has no parse"),
    ]:
        with pytest.raises(InputError, match=message):
            match_parses(file, text.split("/"), "sentence1")


def test_words_taken_out_hand_their_dependents_up() -> None:
    parse = Parse(("a", ",", "b", "c"), (2, 3, 0, 2), ("X", "PUNCT", "X", "X"), ("",) * 4)
    assert parse.without(lambda word, tag: tag == "PUNCT").heads == (2, 0, 2)
    rootless = Parse((".", "b", "c"), (0, 1, 1), ("PUNCT", "X", "X"), ("",) * 3)
    assert rootless.without(lambda word, tag: tag == "PUNCT").heads == (0, 0)


def test_the_cache_resumes_and_keeps_parsers_apart(tmp_path: Path) -> None:
    asked: list[str] = []

    def parser(texts: Sequence[str]) -> Iterator[list[Parse | None]]:
        for text in texts:
            if text == "break":
                raise KeyboardInterrupt
            asked.append(text)
            yield [truth.get(text, Parse((text,), (0,), ("X",), ("",)))]

    whole = Parse(("a", "\u2028ü"), (0, 1), ("X", "Y"), ("", "A=b"), ("root", "d"))
    truth, reports = {"a": whole, "": None}, []

    def parsed(texts: Sequence[str], identity: int = 1) -> list[Parse | None]:
        return ParseCache(tmp_path, {"p": identity}).parse(texts, parser, lambda *state: reports.append(state))

    with pytest.raises(KeyboardInterrupt):
        parsed(["a", "b", "break", "c"])
    (file,) = tmp_path.glob("parses-*.jsonl")
    with file.open("a") as stream:
        stream.write('{"text": "half a li')
    again = [parse.words if parse else None for parse in parsed(["c", "a", "", "a"])]
    assert again == [("c",), whole.words, None, whole.words]
    assert asked == ["a", "b", "c", ""]
    assert reports[-1] == (3, 3)
    parsed(["a"], 2)
    assert asked[-1] == "a"
    # A line that cannot be read is parsed again; one of before there were relations can be read.
    head, first, second, *rest = file.read_text(encoding="utf-8").split("\n")
    old = first.replace('"deprels": ["root", "d"]', '"deprels": []').removesuffix("}") + ', "crc32": 1}'
    file.write_text("\n".join([head, old, second.replace('"text"', '"texts"'), *rest]), encoding="utf-8")
    asked.clear()
    assert parsed(["a", "b", "c", ""])[::3] == [replace(whole, deprels=()), None]
    assert asked == ["b"]


def test_parsers_say_how_to_get_a_model(tmp_path: Path) -> None:
    pytest.importorskip("stanza")
    with pytest.raises(ModelUnavailableError, match=r"no stanza model for fi in .*stanza\.download\(\"fi\"\)"):
        compute_factors("syn", ["a"], ["b"], lang="fi", parser_dir=tmp_path)
    with pytest.raises(InputError, match="stanza has no parser for am: .*CoNLL-U"):
        compute_factors("syn", ["a"], ["b"], lang="am", parser_dir=tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        compute_factors("syn", ["a"], ["b"], parser_dir=tmp_path / "none")


@pytest.fixture
def english(shared: Path) -> Path:
    """Return the folder of a small pipeline for English."""
    pytest.importorskip("stanza")
    if not (shared / "data/models/stanza_en").is_dir():
        pytest.skip("the small stanza pipeline is not here")
    return shared / "data/models/stanza_en"


def test_stanza_parses_and_its_cache_needs_no_pipeline(
    english: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = ["A man is playing a flute.", "!"], ["A man, playing a large flute.", "Dogs bark."]
    phases: list[str] = []
    settings: dict[str, Any] = {"parser_dir": english, "cache": tmp_path}
    settings["progress"] = lambda *state: phases.append(state[0])
    specs = ["syn", "syn:preset=kaster2021", "syn:preset=all-tokens"]
    found = compute_factors(specs, first, second, **settings)
    assert 0.5 < found["syn"].values[0] < 1
    assert [str(s.values[1]) for s in found.values()][:3] == ["nan", "0.0", found[specs[2]].values[1].astype(str)]
    assert found["syn"].details["words"] == [6, 8]  # "!" has no word
    assert found[specs[2]].details["words"] == [8, 11]
    assert "parsing sentence1" in phases
    assert "1 of 2 pairs" in found["syn"].notes[0]
    monkeypatch.setattr("bsx.analysis.factors.parsers.StanzaParser._parse", None)
    again = compute_factors("syn", first, second, **settings)
    assert again["syn"].values[0] == found["syn"].values[0]


def test_a_parser_of_another_language_is_told_by_what_it_was_trained_on(tmp_path: Path) -> None:
    parser = StanzaParser("de", "parse", pretokenized=False, folder=tmp_path, download=False)
    parser._check_language("de_gsd")
    with pytest.raises(InputError, match="was trained for the language 'en', the texts are in 'de'"):
        parser._check_language("en")


def test_a_parser_of_another_language_is_refused(english: Path) -> None:
    with pytest.raises(InputError, match="was trained for the language 'en', the texts are in 'de': parser_dir"):
        compute_factors("syn", ["Ein Haus."], ["Das Haus."], lang="de", parser_dir=english)


def test_what_is_parsed_is_kept_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("bsx.analysis.factors.parsers.time.monotonic", lambda: now[0])

    class Slow(StanzaParser):
        """Takes a second for four texts."""

        def _parse(self, texts: Sequence[str]) -> list[Parse]:
            now[0] += len(texts) / 4
            return [Parse((text,), (0,), ("X",), ("",)) for text in texts]

    texts = [f"text {i}" for i in range(400)]
    times, found = [0.0], []
    for some in Slow("en", "parse", pretokenized=True, folder=None, download=False)(texts):
        found += some
        times.append(now[0])
    assert [parse.words[0] for parse in found if parse is not None] == texts
    assert max(after - before for before, after in itertools.pairwise(times)) <= 10.5
    assert len(times) < 14


@pytest.fixture
def tiny(write: Write) -> dict[str, Path]:
    return {
        "data": write("pairs.tsv", "sentence1\tsentence2\tgrade\nBirds sing.\tBig dogs bark.\t2.5\nStop!\tStop!\t\n"),
        "parses1": write("1.conllu", conllu(BIRDS, STOP)),
        "parses2": write("2.conllu", conllu(DOGS, STOP)),
        "vectors": write("v.vec", "birds 1 0\ndogs 0 1\nstop 1 1\n"),
    }


def test_bsx_factors(cli: Cli, tiny: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    files = [word for name in ("parses1", "parses2", "vectors") for word in (f"--{name}", tiny[name])]
    asked = ("--factors", "sem,syn,lex,mor:min_overlap=0", "--human", "grade", "-o", out, "--format", "json")
    done = cli("factors", tiny["data"], *files, *asked)
    assert done.status == 0, done.err
    assert "1 of 2 cells of column 'grade' are empty" in done.err
    rows = read_rows(out)
    assert list(rows[0]) == ["sentence1", "sentence2", "grade", "sem", "syn", "lex", "mor:min_overlap=0"]
    assert float(rows[0]["syn"]) == pytest.approx(syn((2, 0), (2, 3, 0)))
    assert [row["sem"] for row in rows] == ["2.5", "nan"]
    assert float(rows[1]["lex"]) == float(rows[1]["syn"]) == 1
    summary = json.loads(done.out)
    beside = json.loads((tmp_path / "out.tsv.signatures.json").read_text())
    assert {name: value for name, value in summary.items() if name not in ("notes", "provenance")} == beside
    assert summary["provenance"]["kind"] == "factors"
    assert summary["factors"][1]["settings"]["parses1"]["file"] == "1.conllu"
    assert summary["factors"][3]["n"] == 2


def test_bsx_factors_leaves_out_a_factor_without_features(cli: Cli, tiny: dict[str, Path], tmp_path: Path) -> None:
    named = ("--parses1", tiny["parses1"], "--parses2", tiny["parses2"], "--vectors", tiny["vectors"])
    done = cli("factors", tiny["data"], "--factors", "mor:min_overlap=0.9,lex", *named, "-o", tmp_path / "o.parquet")
    assert done.status == 0, done.err
    assert "the factor is left out" in done.out
    assert "excluded" in done.out
    import pyarrow.parquet as parquet

    assert parquet.read_table(tmp_path / "o.parquet").column_names == ["sentence1", "sentence2", "grade", "lex"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--factors", "sem"], "name the column of human judgments (--human); the columns are 'grade'"),
        (["--factors", "sem", "--human", "mark"], "there is no column 'mark'; the columns are 'grade'"),
        (["--factors", "clb"], "(--detail parallel_scores)"),
        (["--factors", "dep"], "unknown factor 'dep'; there are clb, "),
        (["--factors", "lex,lex"], "named twice"),
        (["--factors", "lex:preset=bleu9"], "there is no preset 'bleu9'; it has default, kaster2021"),
        (["--factors", "lex:case=no"], "factor lex: there is no setting 'case'"),
        (["--factors", "lex", "--reference", "first"], "has no column 'first'"),
        (["--factors", "lex", "--lang", "de-en"], "(--detail translation)"),
        (["--factors", "mor"], "--train-vectors trains them"),
    ],
)
def test_bsx_factors_complains_in_one_line(
    cli: Cli, tiny: dict[str, Path], tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = cli("factors", tiny["data"], *arguments, "-o", tmp_path / "o.tsv")
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "o.tsv").exists()


def test_a_column_that_is_there_already(cli: Cli, write: Write) -> None:
    data = write("p.tsv", "sentence1\tsentence2\tlex\na\ta\t1\n")
    refused = cli("factors", data, "--factors", "lex", "-o", data.with_name("o.tsv"))
    assert (refused.status, "'lex'" in refused.err, data.with_name("o.tsv").exists()) == (2, True, False)


ENTRY = "name: {0}\ntitle: T\nimplementation: {0}factor:{1}\npresets: {{default: {{}}}}\ndefault: default\n"
GOOD = ENTRY.format("length", "Length") + "citation: none\n"


@pytest.fixture
def own(write: Write, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a registry whose code may run; it lies beside the modules ``ownfactor`` and ``lengthfactor``."""
    home = write("lengthfactor.py", LENGTH).parent
    (home / "registry" / "factors").mkdir(parents=True)
    monkeypatch.setenv("BSX_REGISTRY_CODE", str(home / "registry"))
    monkeypatch.syspath_prepend(str(home))
    yield home / "registry"
    sys.modules.pop("ownfactor", None)


def test_a_factor_is_one_file_and_one_entry(own: Path) -> None:
    (own / "factors" / "length.yaml").write_text(GOOD)
    (made,) = get_factors("length", registry=own)
    assert made.compute(SentencePairs(["a"], ["b"]), None).values.tolist() == [1.0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("citation: none\n", ""), "citation: Field required"),
        (GOOD + "speed: 3\n", "speed: Extra inputs"),
        (GOOD.replace("default: default", "default: best"), "default names no preset: 'best'"),
        (GOOD.replace("name: length", "name: width"), "but the file is called 'length'"),
        (GOOD.replace(":Length", ":Width"), "lengthfactor:Width cannot be imported"),
    ],
)
def test_a_wrong_entry_is_explained(own: Path, text: str, message: str) -> None:
    (own / "factors" / "length.yaml").write_text(text)
    with pytest.raises(RegistryError, match=message):
        get_factor("length", registry=own)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nosuch\n", "ownfactor:Own cannot be imported: No module named 'nosuch'"),
        ("def Own(:\n", "ownfactor:Own cannot be imported: .*ownfactor.py, line 1"),
        ("1 / 0\n", r"ZeroDivisionError: division by zero \(.*ownfactor.py, line 1\)"),
        ("class Own: pass\n", "is not a factor: <class 'ownfactor.Own'>"),
        (START + "class Own(Factor):\n    pass\n", "ownfactor.py: Own does not define compute, Config"),
        (OWN + "        return [1.0]\n", r"ownfactor.py: Own.compute returned \[1.0\] for 2 pairs"),
        (OWN + "        return FactorScores(np.zeros(3), {})\n", r"values of shape \(3,\) for 2 pairs"),
        (OWN + "        return pairs.nothing\n", "ownfactor.py, line 6: AttributeError: .*BSX_TRACEBACK=1"),
    ],
)
def test_a_wrong_factor_of_ones_own_is_one_line(own: Path, write: Write, cli: Cli, code: str, message: str) -> None:
    write("ownfactor.py", code)
    (own / "factors" / "own.yaml").write_text(ENTRY.format("own", "Own") + "citation: none\n")
    pairs = write("pairs.tsv", "sentence1\tsentence2\na b\tb c\nd\te\n")
    done = cli("factors", pairs, "-o", own / "out.tsv", "--factors", "own", "--registry", own)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert re.search(message, done.err)


def test_every_entry_can_be_made_with_every_preset() -> None:
    for name, entry in load_registry().factors.items():
        assert {get_factor(name, preset=preset).entry.name for preset in entry.presets} == {name}


def test_cross_lingual_bias_scores_each_pair_once() -> None:
    calls: list[int] = []

    def score(sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        calls.append(len(sources))
        return [float(len(a) - len(b)) for a, b in zip(sources, targets, strict=True)]

    assert cross_lingual_bias(score, ["ab", "a", "ab"], ["b", "b", "b"]).tolist() == [1, 0, 1]
    assert calls == [2]
    with pytest.raises(InputError, match="2 sources, 1 translations"):
        cross_lingual_bias(score, ["a", "b"], ["c"])
    found = compute_factors("clb", ["a"], ["b"], columns={"self": ["0.5"]}, parallel_scores="self")
    assert found["clb"].values.tolist() == [0.5]
    with pytest.raises(InputError, match="column 'self', row 1 is 'high', not a finite number"):
        compute_factors("clb", ["a"], ["b"], columns={"self": ["high"]}, parallel_scores="self")


def test_without_a_parser_or_vectors_the_usual_factors_are_those_that_need_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    # As after the README's set-up: stanza is installed, its models and word vectors are not.
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path / "none"))
    (tmp_path / "pairs.tsv").write_text("sentence1\tsentence2\nthe cat sat\ta cat sat\nrain\tthe rain\n")
    done = cli("factors", tmp_path / "pairs.tsv", "-o", tmp_path / "factors.tsv")
    assert done.status == 0, done.err
    assert (tmp_path / "factors.tsv").read_text().splitlines()[0] == "sentence1\tsentence2\tlex"
    assert "Note: syn is left out: " in done.out
    assert "Note: mor is left out: needs word vectors: vectors" in done.out
    asked = cli("factors", tmp_path / "pairs.tsv", "--factors", "syn,lex", "-o", tmp_path / "asked.tsv")
    assert asked.status == 2
    assert not (tmp_path / "asked.tsv").exists()


def random_heads(n: int, rng: random.Random, roots: int = 1) -> list[int]:
    """A random tree (or forest) on n words, bushy or deep, projective or not."""
    order = rng.sample(range(1, n + 1), n)
    deep = rng.random()
    heads = [0] * n
    for place, word in enumerate(order):
        if place >= roots:
            nearest = max(0, place - 3) if rng.random() < deep else 0
            heads[word - 1] = order[rng.randrange(nearest, place)]
    return heads


def from_brackets(text: str) -> list[int]:
    """Heads of a tree written {a{b}{c}}, its nodes as words in preorder: sibling order is all that counts."""
    heads, stack = [], [0]
    for mark in re.findall(r"\{|\}", text):
        if mark == "{":
            heads.append(stack[-1])
            stack.append(len(heads))
        else:
            stack.pop()
    return heads


def test_distance_equals_zss_and_apted() -> None:
    """Forests too, below a node above their roots: where renaming is free, it goes with the one of the other side."""
    zss = pytest.importorskip("zss")
    apted = pytest.importorskip("apted")
    rng = random.Random(7)

    def zss_tree(heads: list[int]) -> object:
        nodes = [zss.Node("x") for _ in range(len(heads) + 1)]
        for word, head in enumerate(heads, start=1):
            nodes[head].addkid(nodes[word])
        return nodes[0]

    class Free(apted.Config):  # type: ignore[misc, name-defined]
        def rename(self, one: object, two: object) -> int:
            return 0

    def brackets(heads: list[int], word: int) -> str:
        return "{x" + "".join(brackets(heads, w) for w, head in enumerate(heads, start=1) if head == word) + "}"

    for roots in ((1, 1), (2, 2), (1, 2), (2, 1)) * 20:
        a, b = (random_heads(rng.randint(of, 18), rng, of) for of in roots)
        ours = tree_edit_distance(a, b)
        assert ours == zss.simple_distance(zss_tree(a), zss_tree(b))
        one, two = (apted.helpers.Tree.from_text(brackets(heads, 0)) for heads in (a, b))
        assert ours == apted.APTED(one, two, Free()).compute_edit_distance()


def test_distance_of_the_reference_examples(shared: Path) -> None:
    examples = json.loads((shared / "reference_values.json").read_text())["ted_examples"]
    for example in examples:
        a, b = from_brackets(example["t1"]), from_brackets(example["t2"])
        assert tree_edit_distance(a, b) == example["ted"], example
        assert syn(a, b) == pytest.approx(example["syn"], abs=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 25))
def test_distance_is_symmetric_bounded_and_of_the_right_parity(seed: int, n: int, m: int) -> None:
    rng = random.Random(seed)
    a, b = random_heads(n, rng), random_heads(m, rng)
    distance = tree_edit_distance(a, b)
    assert distance == tree_edit_distance(b, a)
    assert abs(n - m) <= distance <= n + m - 2
    assert (distance - n - m) % 2 == 0
    assert tree_edit_distance(a, a) == 0


def test_forests_and_nothing() -> None:
    assert tree_edit_distance([], []) == 0
    assert tree_edit_distance([], [0, 1]) == 2
    assert tree_edit_distance([0, 0, 0], [0, 0]) == 1
    assert tree_edit_distance([0, 0], [0, 1]) == 2  # side by side against one above the other
    assert syn([], [0]) == 0
    assert syn([], []) != syn([], [])  # NaN: nothing to compare


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 5], "word 2 has head 5, but there are 2 words"),
        ([-1], "word 1 has head -1"),
        ([2, 1], "2 of 2 words hang together in a circle"),
        ([0, 3, 2], "2 of 3 words hang together in a circle"),
        ([1], "1 of 1 words"),
    ],
)
def test_broken_trees_are_refused(heads: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tree_edit_distance(heads, [0])


def test_many_pairs_are_the_same_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    pairs = [tuple(tuple(random_heads(rng.randint(1, 9), rng)) for _ in range(2)) for _ in range(40)]
    monkeypatch.setattr("bsx.analysis.factors.syntax._AT_ONCE", 15)
    reports: list[tuple[int, int]] = []
    scores = syn_scores(pairs, report=lambda *state: reports.append(state))  # type: ignore[arg-type]
    assert scores.tolist() == [syn(a, b) for a, b in pairs]
    assert reports[-1][0] == reports[-1][1]
