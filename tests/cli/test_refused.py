"""What is refused in one line: options that nothing reads, cells that are no scores, loops of links, long values."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from bsx.cli.commands import COMMANDS
from bsx.errors import InputError, RegistryError, shortened
from bsx.support.settings import DrawSettings, refuse_idle
from tests.conftest import Cli


def one_line(done: Any, *, longest: int = 1500) -> str:
    """Return the one line of a refusal."""
    assert (done.status, done.out) == (2, ""), done.err
    assert done.err.startswith("bsx: error: ")
    assert done.err.count("\n") == 1
    assert len(done.err) < longest
    assert "nobody foresaw" not in done.err
    return str(done.err)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of a few lines, in the working folder."""
    rows = ["candidate\treference\thuman", *(f"the cat {i}\tthe cats {i * i}\t{i % 5}" for i in range(12))]
    (tmp_path / "judged.tsv").write_text("\n".join(rows) + "\n")
    lines = [f"{i % 4}\t{i // 4}\t{i % 5}\t{i * i % 7}\t{i % 3}" for i in range(24)]
    (tmp_path / "scores.tsv").write_text("\n".join(["system\tsegment\thuman\ta\tx", *lines]) + "\n")
    lines = [f"{i % 5}\t{i}\t{i * i % 7}\t{i % 3}\t{i % 4}" for i in range(24)]
    (tmp_path / "zoo.tsv").write_text("\n".join(["human\tchrf\tter\tsentbleu\tcomet:python=x/y", *lines]) + "\n")
    (tmp_path / "c.txt").write_text("a cat\na dog\n")
    (tmp_path / "r.txt").write_text("the cat\nthe dog\n")
    (tmp_path / "task.tsv").write_text("".join(f"the cat {i}\tL{i % 2}\n" for i in range(40)))
    (tmp_path / "three.tsv").write_text("human\ta\tb\n1\t2\t3\n2\t1\t5\n3\t4\t4\n")
    (tmp_path / "few.tsv").write_text("a b\tL0\nc d\tL1\n")
    (tmp_path / "en.conllu").write_text("1\tcat\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
    (tmp_path / "paws.tsv").write_text("sentence1\tsentence2\tlabel\na b c d\td c b a\t0\na q r s\ta b c d\t1\n")
    (tmp_path / "labels.tsv").write_text("label\tm\n1\t2\n1\t3\n1\t4\n")
    (tmp_path / "plain.tsv").write_text("label\tsentence1\tsentence2\n1\ta\tb\n0\ta\tc\n")
    (tmp_path / "hyps.txt").write_text("a\nb\nc\nd\n")
    (tmp_path / "refs.txt").write_text("a\nb\nc\nd\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin1.txt").write_bytes(b"a\nb\ncaf\xe9\nd\n")
    (tmp_path / "t.tsv").write_text("mt\tref\na\tb\n")
    (tmp_path / "header.tsv").write_text("mt\tref\n")
    (tmp_path / "taken.tsv").write_text("candidate\treference\tchrf\nx\ty\t1\n")
    (tmp_path / "null.jsonl").write_text('{"mt": "a", "ref": null}\n')
    (tmp_path / "lack.jsonl").write_text('{"mt": "a", "ref": "b"}\n{"mt": "a"}\n')
    (tmp_path / "folder.tsv").mkdir()
    (tmp_path / "sub" / "ensembles").mkdir(parents=True)
    (tmp_path / "sub" / "ensembles" / "e.yaml").write_text("name: e\n")
    (tmp_path / "sub" / "hyps.txt").write_text("x\n")
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "model.yaml").write_text("x: 1\n")
    (tmp_path / "trained" / "disentangle.csv").write_text("a,x\n1,2\n2,2\n3,1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


NOUNS = "adversarial build-triples paws.tsv -o o.tsv --recipe nouns"
IDLE = [
    ("score -c c.txt -r r.txt --metrics chrf --data-dir x", "error: --data-dir has no effect"),
    ("meta scores.tsv --columns a --data-dir x", "data-dir"),
    ("data list --data-dir c.txt", "--data-dir: "),
    ("data table scores.tsv --loader table -o o.tsv --data-dir x", "data-dir has no effect"),
    ("score -c c.txt -r r.txt --metrics chrf --registry trained", "registry: "),
    ("models --registry trained", "registry: "),
    ("probe task.tsv -m minilm --lang Klingon", "lang has no effect"),
    ("probe task.tsv -m minilm --candidate c", "candidate has no effect"),
    ("probe task.tsv -m minilm --judged judged.tsv --lang Klingon", "Klingon"),
    ("intervene judged.tsv --metrics chrf -l en --vectors x --factors lex", "vectors has no effect"),
    ("intervene judged.tsv --metrics chrf -l en --stanza download=true", "download has no effect"),
    ("factors paws.tsv -o o.tsv --factors lex --vectors x", "vectors has no effect"),
    ("factors paws.tsv -o o.tsv --human human", "human has no effect"),
    ("adversarial build-triples paws.tsv -o o.tsv --detail tagger=nltk", "tagger has no effect"),
    (f"{NOUNS} --detail keep=3", "keep has no effect"),
    (f"{NOUNS} --detail tagger=nltk --stanza download=true", "download has no effect"),
    ("adversarial perturb judged.tsv --metrics chrf --stanza parser_dir=x", "parser_dir has no effect"),
    ("adversarial perturb --list --metrics chrf", "--metrics"),
    ("models --languages --licence MIT", "--licence"),
    ("models --lang de show minilm", "--lang"),
    ("metrics --needs source show chrf", "--needs"),
    ("meta scores.tsv --columns a --detail human_ties=1", "--detail human_ties needs --statistic acc_eq, not "),
    ("meta scores.tsv --columns a --test none --correction holm", "correction holm has no effect"),
    ("ensemble scores.tsv --columns a,x --human human --how z --folds 5", "folds"),
]


PERTURB = "adversarial perturb judged.tsv --metrics chrf"
INTERVENE = "intervene judged.tsv --metrics chrf -l en"
SCORE = "score judged.tsv"
FIT = "disentangle scores.tsv --columns a --factor-columns x"
PLAN = "plan compare scores.tsv --effect 0.1"
TRAIN = "train bilstm judged.tsv --valid judged.tsv -o o"
COMBINE = "ensemble scores.tsv --human human --resamples 20"
KEPT = "ensemble zoo.tsv --human human --resamples 20 --registry own -o out.txt --save e"
PROBE = "probe task.tsv -m minilm"
WRONG = [
    ("models --prefer quality", "name it with --lang"),
    ("intervene judged.tsv --metrics chrf", "say which it is with lang"),
    (f"{INTERVENE} --factors mor", "mor: needs word vectors: --vectors"),
    (f"{INTERVENE} --plot x.gif", "cannot draw this format"),
    ("adversarial perturb", "give a table of texts and metrics"),
    (f"{PERTURB} --candidate nope", "has no column 'nope'; it has candidate, reference, human"),
    (f"{PERTURB} --perturbations source", "perturbation source needs the sources of the texts"),
    (f"{PERTURB} --perturbations noun-swap", "perturbation noun-swap needs parses of the texts"),
    (f"{PERTURB} --parser stanza", "parser needs to know the language"),
    ("adversarial pairs labels.tsv", "--columns names the scores in it, --metrics computes some"),
    ("adversarial pairs labels.tsv --columns m --model minilm", "model has no effect without metrics"),
    ("adversarial pairs labels.tsv --columns m --lower n", "none of the scores"),
    ("adversarial triples labels.tsv", "has no column 'sentence1'"),
    ("adversarial triples plain.tsv", "has no column of scores"),
    (f"{SCORE} --metrics xmoverscore --model minilm", "compares candidates with sources, but the data has none"),
    ("score taken.tsv --metrics chrf -o o.tsv", "has a column 'chrf' already"),
    (f"{SCORE} --metrics crhf", "unknown metric 'crhf'. Near: chrf"),
    (f"{SCORE} --metrics chrf:word_ordr=2", "metric chrf: there is no setting 'word_ordr'. Near: word_order"),
    (f"{SCORE} --metrics moverscore:layer=2", "metric moverscore: layer needs pmeans=false"),
    (f"{SCORE} --metrics bertscore --layer 3", "write it as bertscore:layer="),
    (f"{SCORE} --metrics bleu:tokenize=nope", "is none of sacreBLEU's tokenizers"),
    (f"{SCORE} --metrics xmoverscore:mapping=clp", "mapping (clp or umd) and mapping_file go together"),
    (f"{SCORE} --metrics sbert --lang de --encoder strict=true -m minilm", "was not trained on German; "),
    ("plan compare --effect 0.1 --sd 1 --columns human", "columns has no effect without a table"),
    (f"{PLAN} --columns a", "name the two to compare, of 0, 1, 2, 3"),
    (f"{PLAN} --columns hum --systems 0,1", "'hum'"),
    ("plan meta scores.tsv --effect 0.1 --columns a", "the two metrics to compare"),
    ("plan meta scores.tsv --effect 0.1 --columns a,x --correlations .5,.4,.6", "correlations: goes without a table"),
    ("plan meta --correlations=.9,.9,1", "both metrics have the same"),
    ("plan meta --correlations .5,.4,x", "correlations: without a pilot, state three"),
    (f"{TRAIN} -m minilm --human huma", "has no column 'huma'"),
    (f"{FIT} --document a", "document: the column 'a' is named twice"),
    (f"{FIT} --document human --cluster segment", "document has no effect with cluster"),
    ("compare scores.tsv --columns a --document system", "document: 'system' is the column of systems"),
    ("meta scores.tsv --human human --columns a --margin 0.1", "margin has no effect with one metric"),
    ("meta three.tsv --columns a,b", "which needs 4; --test none leaves it out"),
    ("meta --test-set wmt17/zh-en --data-dir trained", "`bsx data get wmt17-da` fetches it; --data-dir names another"),
    (f"{SCORE} -l qq", "Without lang, a model that is named"),
    ("factors paws.tsv -o o.tsv --factors lex --lang qq", "unknown language 'qq'"),
    (f"{COMBINE} --columns a,x --save a/b:c", "a name has letters"),
    (f"{KEPT} --columns chrf,ter --lower chrf", "lower must not name chrf"),
    (f"{KEPT} --columns chrf,ter --members bleu=bleu", "COLUMN=METRIC with one of the columns chrf"),
    (f"{KEPT} --columns chrf,ter --lower ter --members ter=chrf", "of chrf, higher is better"),
    (f"{KEPT} --columns chrf,sentbleu --members sentbleu=chrf", "two members are the metric"),
    (f"{KEPT} --columns chrf,ter --registry sub", "sub/ensembles/e.yaml is there already"),
    (f"{KEPT} --columns chrf,ter --save sub/ensembles/e.yaml", "sub/ensembles/e.yaml is there already"),
    (f"{KEPT} --columns chrf,comet:python=x/y", "say which metric the column holds with members comet:python=x/y="),
    (f"{COMBINE} --columns a,x --how weights --folds 1", "folds"),
    (f"{PROBE} --layers 9", "layer: 9 is too deep"),
    (f"{PROBE} --plot p.gif", "p.gif: the name must end in .png, .svg, .pdf"),
    (f"{PROBE} -o o.xyz", "o.xyz: the name must end in .tsv"),
    (f"{PROBE} --detail parallel=true", "parallel is about further files"),
    (f"{PROBE} --labels Number", "labels has no effect without a file in CoNLL-U"),
    (f"{PROBE} --test-data task.tsv --test-data task.tsv", "test on are called task.tsv: rename one"),
    (f"{PROBE} --test-data few.tsv --detail parallel=true", "few.tsv has 2 sentences, task 40"),
    ("probe task.tsv few.tsv -m minilm --test-data few.tsv", "is for the probes of one task, and there are 2"),
    ("probe en.conllu -m minilm", "en.conllu: is CoNLL-U, where words have labels"),
    ("probe task.tsv task.tsv -m minilm", "two files would both be the task 'task'"),
    ("probe task.tsv", "model"),
    ("registry tune minilm labels.tsv -l en", "has no column 'candidate'; it has label, m"),
    ("match ' ' a -m minilm", "the candidate has no content"),
]


TEXTS = "score -m minilm -c hyps.txt -r refs.txt"
ROWS = "--candidate mt --reference ref"
FILES = [
    ("score -m minilm -c nope.txt -r refs.txt", "nope.txt: there is no such file"),
    ("score -m minilm -c . -r refs.txt", "is a folder"),
    ("score -m minilm -c empty.txt -r refs.txt", "empty.txt: is empty"),
    ("score -m minilm -c c.txt -r refs.txt", "c.txt has 2, refs.txt has 4"),
    (f"{TEXTS} -r c.txt", "hyps.txt has 4, c.txt has 2"),
    ("score -m minilm -c latin1.txt -r refs.txt", "latin1.txt: line 3 is not UTF-8 (byte 0xe9 at position 4)"),
    ("score -m minlm -c hyps.txt -r refs.txt", "unknown model 'minlm'. Near: minilm"),
    (f"{TEXTS} --layer 7", "layer: 7 is too deep, minilm has layers 0 to 6"),
    (f"{TEXTS} -o missing/o.tsv", "missing does not exist"),
    (f"{TEXTS} -o o.docx", "cannot tell the format"),
    (f"{TEXTS} -o folder.tsv", "is a folder"),
    (f"score -m minilm t.tsv {ROWS} -o sub/../t.tsv", "is an input of this run"),
    (f"{TEXTS} --encoder cache=", "give the cache a folder of its own"),
    (f"{TEXTS} --encoder cache_size=1GB", "cache_size needs cache"),
    (f"{TEXTS} --encoder device=cpu:3", "device 'cpu:3' is not available"),
    (f"{TEXTS} --rescale -l de", "no rescaling baseline for minilm in 'de'"),
    ("score -c hyps.txt -r refs.txt --metrics chrf -l xx", "unknown language 'xx'"),
    ("score -c hyps.txt -r refs.txt --metrics chrf --idf", "chrf has none of that name"),
    ("score -m minilm -c hyps.txt", "no references: name files of references"),
    ("score -m minilm", "nothing to score"),
    (f"{TEXTS} -c sub/hyps.txt", "two candidate files are called 'hyps'"),
    ("score -m minilm -c - -r -", "only one file can be standard input"),
    (f"{TEXTS} t.tsv", "not both"),
    (f"{TEXTS} --segment x", "which is missing"),
    ("score -m minilm t.tsv", "no candidates: there is no column 'candidate'"),
    ("score -m minilm t.tsv --candidate mtt --reference ref", "no column 'mtt'; it has mt, ref. Near: mt"),
    (f"score -m minilm header.tsv {ROWS}", "has a header but no rows"),
    (f"score -m minilm null.jsonl {ROWS}", "line 1, column 'ref' is None"),
    (f"score -m minilm lack.jsonl {ROWS}", "line 2: has no 'ref'"),
]
VALUES = [
    (f"{TEXTS} --layer x", "layer: must be a whole number (got 'x')"),
    (f"{TEXTS} --layer 3 --all-layers", "--layer and --all-layers exclude each"),
    (f"{TEXTS} --encoder backend=tpu", "--encoder backend: must be 'auto', 'torch' or 'onnx' (got 'tpu')"),
    (f"{TEXTS} --encoder memory=1GB,", "memory: cannot read the size '1GB,'"),
    (f"{TEXTS} --encoder nosuch=1", "--encoder: 'nosuch=1' is not NAME=VALUE with one of normalize"),
    (f"{TEXTS} --encoder dtype=fp16,dtype=fp32", "--encoder: dtype is given twice"),
    (f"{TEXTS} --encoder leading_space=perhaps", "error: --encoder leading_space: "),
    (f"{TEXTS} --encoder cache=a,b", "error: --encoder cache: "),
    ("score -c c.txt -r r.txt --metrics bertr:layer=-1", "layer: must be at least 0"),
    ("score -c c.txt -r r.txt --metrics chrf:beta=x", "beta: must be a whole number (got 'x')"),
    ("score --no-final-norm", "No such option: --no-final-norm; write --encoder final_norm=VALUE"),
    ("meta scores.tsv --columns a --lower ''", "lower is given without any name"),
    ("meta scores.tsv --columns a --resamples 0", "resamples: must be at least 1 (got '0')"),
    ("meta '' --columns a", "the name of a file to read is empty"),
    ("meta scores.tsv --columns a --level system", "'hybrid'. Near: sys."),
    (f"{PERTURB} --strengths 5", "strengths: must be at most 1 (got '5')"),
    (f"{PROBE} --train-sizes 5,x", "train-sizes: must be a whole number (got 'x')"),
    (f"{FIT} --reliability human=.9,human=.8", "reliability: human is given twice"),
    ("compare -c c.txt -c r.txt --metrics chrf --resamples 15", "at --confidence=0.95 takes at least 20"),
]


LEARN = "train esim judged.tsv --valid judged.tsv -m ./trained"
OUTPUTS = [
    (f"{LEARN} -o judged.tsv", "dir 'judged.tsv' is a file"),
    (f"{LEARN} -o judged.tsv/x", "judged.tsv is not a folder"),
    (f"{LEARN} -o ./trained", "is an input of this run, which would overwrite it: give output another name"),
    (f"{FIT} -o scores.tsv", "scores.tsv is not a folder"),
    ("disentangle trained/disentangle.csv --columns a --factor-columns x -o trained", "is an input of this run"),
    (f"{COMBINE} --columns a,x --save scores.tsv.yaml -o scores.tsv", "overwrite it: give output another name"),
    (f"{COMBINE} --columns a,x --save sub/../no/x.yaml", "does not exist"),
    ("meta scores.tsv --columns a --scores-out scores.tsv", "overwrite it: give --scores-out another"),
]


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {file: file.read_bytes() if file.is_file() else None for file in folder.rglob("*")}


@pytest.mark.parametrize(("words", "named"), OUTPUTS)
def test_outputs_are_refused_before_anything_is_computed(
    words: str, named: str, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for job in ("train.run._begin", "disentangle.run.regress", "ensemble.run.open_frame"):
        monkeypatch.setattr(f"bsx.analysis.{job}", None)
    test_what_is_wrong_or_idle_is_refused(words, named, folder, cli)


@pytest.mark.parametrize(("words", "named"), [*IDLE, *WRONG, *FILES, *VALUES])
def test_what_is_wrong_or_idle_is_refused(words: str, named: str, folder: Path, cli: Cli) -> None:
    before = contents(folder)
    refusal = one_line(cli(*shlex.split(words)))
    assert named in refusal
    assert "Input should be" not in refusal
    assert contents(folder) == before


def test_what_is_idle_is_what_differs_from_its_default() -> None:
    settings = DrawSettings(seed=1, resamples=30)
    refuse_idle(settings, "here", "seed")
    with pytest.raises(InputError, match="^resamples has no effect"):
        refuse_idle(settings, "here", "seed", "resamples")


def scored(folder: Path, cli: Cli, cells: list[str]) -> Path:
    """Return a table that bsx scored, with these cells as its scores."""
    table = folder / "chrf.tsv"
    assert cli("score", "-c", "c.txt", "-r", "r.txt", "--metrics", "chrf", "-o", table).status == 0
    rows = [line.split("\t") for line in table.read_text().splitlines()]
    place = rows[0].index("chrf")
    for row, cell in zip(rows[1:], cells, strict=True):
        row[place] = cell
    table.write_text("\n".join("\t".join(row) for row in rows) + "\n")
    return table


@pytest.mark.parametrize("cell", ["abc", "inf", "1,5"])
def test_a_report_reads_scores_as_every_command_does(cell: str, folder: Path, cli: Cli) -> None:
    table = scored(folder, cli, ["1", cell])
    assert f"line 3, column 'chrf' is '{cell}'" in one_line(cli("report", table, "-o", "o.html"))
    assert not (folder / "o.html").exists()


@pytest.mark.parametrize("cells", [["", ""], ["1", ""], ["NA", "nan"]])
def test_a_report_shows_scores_that_are_missing(cells: list[str], folder: Path, cli: Cli) -> None:
    assert cli("report", scored(folder, cli, cells), "-o", "o.html").status == 0


def test_a_text_in_a_cell_is_not_echoed(folder: Path, cli: Cli) -> None:
    (folder / "long.tsv").write_text(f"human\ta\n{'x' * 70_000}\t1\n")
    one_line(cli("meta", "long.tsv", "--human", "human", "--columns", "a"))
    (folder / "names.tsv").write_text(f"{'x' * 70_000}\ta\n1\t1\n")
    one_line(cli("meta", "names.tsv", "--human", "human", "--columns", "a"))


def test_python_gets_the_same_short_message() -> None:
    assert len(str(InputError(f"unknown metric {'x' * 70_000!r}. Near: chrf."))) < 200
    assert str(InputError(f"'{'x y ' * 20_000}' is wrong: mend it")).endswith("is wrong: mend it")
    usual = "scores.tsv: line 3: " + "a problem and what to do about it; " * 20
    assert shortened(usual) == str(InputError(usual)) == usual
    several = " | ".join(f"file {number}.yaml: what is wrong in it" for number in range(200))
    assert str(RegistryError(several)) == several


NAMES = "overlap,length,ter,sentbleu"


@pytest.mark.parametrize(
    "wrong",
    ["bertscore:model=nosuch", "bertscore:model=minilm,layer=99", "trained:nowhere", "chrf:word_order=x", "nosuch"],
)
def test_an_error_names_its_metric_among_several(wrong: str, folder: Path, cli: Cli) -> None:
    said = one_line(cli("score", "-c", "c.txt", "-r", "r.txt", "--metrics", f"{NAMES},{wrong}"))
    assert wrong.partition(":")[0] in said.partition(": ")[2].partition(": ")[2][:60]


def test_there_is_a_case_for_most_commands() -> None:
    assert 2 * len(COMMANDS.keys() & {words.split()[0] for words, _ in IDLE}) >= len(COMMANDS)


def test_the_cells_of_acc_eq_are_pooled_where_that_is_asked_for(folder: Path, cli: Cli) -> None:
    def figures(*more: str) -> Any:
        words = "meta scores.tsv --human human --columns a --statistic acc_eq --resamples 20 --format json"
        done = cli(*words.split(), *more)
        assert done.status == 0, done.err
        return json.loads(done.out)["groups"]

    usual, item, none = figures(), figures("--detail", "grouping=item"), figures("--detail", "grouping=none")
    assert usual == item != none
