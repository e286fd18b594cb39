"""Tasks read from CoNLL-U: what is an item, each kind of label, and malformed files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bsx.analysis.probe.tasks import ProbingTask, check_label, is_treebank, read_tokens, read_treebank
from bsx.data.lines import NamedFile
from bsx.errors import InputError

TREE = """# text = Wir gehen zum Zug, der wartet.
1	Wir	wir	PRON	PPER	Case=Nom|Number=Plur	2	nsubj	_	_
2	gehen	gehen	VERB	VVFIN	Number=Plur|Person[psor]=1	0	root	_	_
3-4	zum	_	_	_	_	_	_	_	_
3	zu	zu	ADP	APPR	_	5	case	_	_
4	dem	der	DET	ART	Case=Dat|Number=Sing	5	det	_	_
5	Zug	Zug	NOUN	NN	Case=Dat|Number=Sing	2	obl	_	SpaceAfter=No
6	,	,	PUNCT	$,	_	8	punct	_	_
7	der	der	PRON	PRELS	Case=Nom|Number=Sing	8	nsubj	_	_
8	wartet	warten	VERB	VVFIN	Number=Sing	5	acl:relcl	_	SpaceAfter=No
8.1	und	und	CCONJ	KON	_	_	_	2:dep	_
9	.	.	PUNCT	_	_	2	punct	_	_

1	Halt	halten	VERB	VVIMP	Number=Sing	0	root	_	_
2	!	!	PUNCT	$.	_	1	punct	_	_
"""
WORDS = ("Wir", "gehen", "zu", "dem", "Zug", ",", "der", "wartet", ".")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., ProbingTask]:
    def made(label: str, text: str = TREE) -> ProbingTask:
        (tmp_path / "de.conllu").write_text(text, encoding="utf-8")
        (task,) = read_treebank(NamedFile(tmp_path / "de.conllu"), [label])
        return task

    return made


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("upos", "PRON VERB ADP DET NOUN PUNCT PRON VERB PUNCT VERB PUNCT"),
        ("xpos", "PPER VVFIN APPR ART NN $, PRELS VVFIN - VVIMP $."),
        ("deprel", "nsubj root case det obl punct nsubj acl punct root punct"),
        ("head-distance", "1 root 2 1 -3 2 1 -3 -5 root -1"),
        ("depth", "2 1 3 3 2 4 4 3 2 1 2"),
        ("Number", "Plur Plur - Sing Sing - Sing Sing - Sing -"),
        ("Case", "Nom - - Dat Dat - Nom - - - -"),
    ],
)
def test_labels_of_syntactic_words(label: str, expected: str, read: Callable[..., ProbingTask]) -> None:
    task = read(label)
    assert task.name == f"de:{label}"
    assert task.tokens
    assert task.sentences == (WORDS, ("Halt", "!"))
    assert [one or "-" for one in task.labels] == expected.split()
    assert task.types == (*WORDS, "Halt", "!")
    assert set(task.groups) == {" ".join(WORDS), "Halt !"}


def test_deep_and_distant_words_share_a_label(read: Callable[..., ProbingTask]) -> None:
    chain = "".join(f"{i}\tw\t_\tX\t_\t_\t{i - 1}\tdep\t_\t_\n" for i in range(1, 9))
    assert read("depth", chain).labels == ("1", "2", "3", "4", "5", "5", "5", "5")
    comb = "".join(f"{i}\tw\t_\tX\t_\t_\t{8 if i < 8 else 0}\tdep\t_\t_\n" for i in range(1, 9))
    assert read("head-distance", comb).labels == ("5", "5", "5", "4", "3", "2", "1", "root")


def test_a_layered_feature_is_a_label_and_other_names_are_none() -> None:
    assert check_label("Number[psor]") == "Number[psor]"
    for name in ("pos", "number", "UPOS=NOUN", ""):
        with pytest.raises(ValueError, match="is no label of CoNLL-U"):
            check_label(name)
    assert is_treebank("a/b.CONLLU.gz")
    assert not is_treebank("conllu.txt")


@pytest.mark.parametrize(
    ("label", "text", "message"),
    [
        ("Tense", TREE, "no word has the label 'Tense'; features: Case, Number, Person"),
        ("Number", TREE.replace("Number=Plur", "Number=Sing"), "every item has the label 'Sing'"),
        ("upos", TREE.replace("\tobl\t_", "\tobl"), "de.conllu: line 7 has 9 tab-separated fields"),
        ("upos", TREE.replace("VVFIN\tNumber=Sing", "VVFIN\tSing"), "de.conllu: line 10: the features 'Sing' are not"),
        ("depth", TREE.replace("Sing\t0", "Sing\t2"), "de.conllu: line 14: the heads of this sentence run in a circle"),
    ],
)
def test_what_cannot_be_read_is_named(label: str, text: str, message: str, read: Callable[..., ProbingTask]) -> None:
    with pytest.raises(InputError) as caught:
        read(label, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_parallel_treebanks_give_the_tasks_of_word_files(shared: Path, tmp_path: Path) -> None:
    """What a file of word TAB label of the same treebank gives, and the same sentences when some are drawn."""
    tasks = {}
    for lang, name in (("en", "English"), ("zh", "Chinese")):
        file = shared / f"data/ud/UD_{name}-PUD/{lang}_pud-ud-test.conllu"
        rows = [line.split("\t") for line in file.read_text(encoding="utf-8").split("\n") if not line.startswith("#")]
        lines = [f"{row[1]}\t{row[3]}" if len(row) > 1 else "" for row in rows if row[0].isdigit() or row == [""]]
        (tmp_path / f"{lang}.txt").write_text("\n".join(lines), encoding="utf-8")
        tasks[lang], old = read_treebank(NamedFile(file), ["upos"])[0], read_tokens(NamedFile(tmp_path / f"{lang}.txt"))
        for field in ("sentences", "labels", "groups", "types"):
            assert getattr(tasks[lang], field) == getattr(old, field)
        assert len(tasks[lang].sentences) == 1000
    drawn = tasks["zh"].translating(tasks["en"]).sample(50, 1)
    assert set(drawn.groups) == set(tasks["en"].sample(50, 1).groups)
