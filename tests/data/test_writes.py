"""Nothing in the code reads or writes past the gates of files, and every command and job says what it writes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import typer

import bsx
from bsx.cli.commands import COMMANDS, build

ROOT = Path(__file__).resolve().parents[2]
WRITES = {
    *("write_text", "write_bytes", "mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile"),
    *("to_parquet", "to_excel", "to_pickle", "savefig", "save_file", "savez", "savez_compressed", "savetxt", "tofile"),
    *("ParquetWriter", "FileHandler", "urlretrieve", "memmap", "open_memmap", "copyfile", "copytree", "copy2", "move"),
    *("rename", "renames", "rmtree", "symlink_to", "hardlink_to", "touch", "fdopen"),
}
GATE = {"bsx/data/output.py"}
PAST_IT = {  # file -> what it calls, and why it may
    "bsx/bertscore/window_vectors.py": {"TemporaryFile"},  # has no name
    "bsx/encode/features.py": {"TemporaryFile", "memmap"},  # has no name
    "bsx/encode/states.py": {"TemporaryFile", "memmap"},  # has no name
    "bsx/encode/architecture.py": {"memmap"},  # is read only
    "bsx/metrics/judging/cache.py": {"open"},  # appends to its cache
    "bsx/metrics/learned/external.py": {"TemporaryFile"},  # has no name
    "bsx/metrics/learned/workers/serve.py": {"fdopen"},  # a pipe to the process that started this one
    "bsx/models/e5s1.py": {"memmap"},  # is read only
    "bsx/models/conversion.py": {"open", "rename", "rmtree", "write_text"},  # a folder of the cache, whole under a lock
    "bsx/data/formats/workbook.py": {"open"},  # a member of a file of the gate
    "bsx/data/journal.py": {"open", "savez"},  # an array into a file of the gate
    "bsx/compat/bert_score/scorer.py": {"savefig"},  # into a file of the gate
    "analysis/present/pictures.py": {"write_bytes"},  # into a file of the gate
    "bsx/support/tensors.py": {"open"},  # into a file of the gate, or of the cache
    "bsx/data/run.py": {"mkstemp", "fdopen"},  # copies of what can be read but once
    "bsx/encode/vector_cache.py": {"replace"},  # new names only, whole by checksums
    "bsx/networks/run.py": {"rmtree", "save"},  # of the folder that the training made; into a file of the gate
    "analysis/datasets/obtain.py": {"replace", "rmtree", "copyfile"},  # what was downloaded, unpacked
    "bsx/support/download.py": {"replace", "write_text", "open"},  # downloads that go on
    "analysis/factors/parses.py": {"open"},  # appends to its cache
    "analysis/factors/vectors.py": {"TemporaryDirectory", "open"},  # for another program, which is to write there
    "bsx/ui/inputs.py": {"open", "copyfile"},  # what is uploaded, into the folder of its run
    "bsx/ui/jobs.py": {"open", "touch"},  # the output of commands, in the folder of their run; its lock
    "bsx/ui/results/store.py": {"TemporaryFile"},  # has no name
    "bsx/ui/results/views.py": {"rmtree", "mkdtemp"},  # what a command writes for a download, and is then removed
    "bsx/ui/workspace.py": {"rmtree"},  # a run that the user removes
}

READ_GATE = {"bsx/data/lines.py", "bsx/data/tables.py", "bsx/catalog/entries/__init__.py"}
# Files that bsx wrote itself or that come with it, and formats of libraries.
READ: dict[str, str] = {
    "analysis/datasets/eval4nlp.py": "members of an archive that was opened through NamedFile",
    "bsx/support/download.py": "the state of a download",
    "analysis/datasets/obtain.py": "an archive that was downloaded, and the lock of a folder of data",
    "analysis/factors/parsers.py": "digests of a parser's files",
    "analysis/factors/parses.py": "the cache of parses",
    "analysis/factors/vectors.py": "what its own process wrote",
    "analysis/present/forms.py": "the CSV that a result has just made",
    "analysis/report/result.py": "shipped parts of a page",
    "bsx/bertscore/baseline.py": "the state of a run",
    "bsx/catalog/overlay.py": "reads an entry again before it is written",
    "bsx/data/journal.py": "the journal of a run",
    "bsx/support/optional.py": "where pip says that it installed bsx from",
    "bsx/data/naming.py": "a shipped file",
    "bsx/data/output.py": "what it has just written",
    "bsx/encode/model.py": "digests of code",
    "bsx/encode/vector_cache.py": "the cache of vectors",
    "bsx/encode/architecture.py": "folders of models, safetensors",
    "bsx/encode/tokenizer.py": "folders of models",
    "bsx/models/files.py": "digests of models",
    "bsx/metrics/embedding/mapping.py": "arrays of NumPy and PyTorch",
    "bsx/metrics/embedding/sentence.py": "folders of models",
    "bsx/metrics/judging/cache.py": "the answers of judges",
    "bsx/metrics/learned/regression.py": "folders of models",
    "bsx/metrics/learned/workers/comet_model.py": "folders of models, in another interpreter",
    "bsx/metrics/learned/workers/laser_model.py": "folders of models, in another interpreter",
    "bsx/metrics/learned/workers/serve.py": "the requests of this process, in another interpreter",
    "bsx/models/e5s1.py": "a shipped file",
    "bsx/support/faces.py": "the package's own source",
    "bsx/support/memory.py": "what the system says of memory",
    "bsx/support/provenance.py": "digests",
    "bsx/support/tensors.py": "safetensors and weights of PyTorch",
    "bsx/networks/vectors.py": "the vectors of a training",
    "bsx/ui/pages.py": "the page's own templates",
    "bsx/ui/workspace.py": "the page's own records of runs",
}
READERS = {
    *("read_text", "read_bytes", "read_parquet", "read_csv", "read_json", "ParquetFile", "safe_open", "safe_load"),
    *("loadtxt", "genfromtxt", "fromfile", "DictReader"),
}
MODULES = {"csv.reader", "json.load", "yaml.load", "np.load", "torch.load", "gzip.open", "tarfile.open", "sys.stdin"}
INPUTS = {  # options and arguments of commands that name a file or folder to read, or one that bsx keeps things in
    *("file", "files", "against", "parses", "parses1", "parses2", "dictionary", "lexicon", "vectors"),
    *("fit", "cache", "registry", "data_dir", "from_folder", "vector_cache", "parser_dir", "folder", "baseline"),
    *("corpus", "links", "sources", "targets", "segments", "read_only"),
    *("data", "wmt17", "judged", "references", "treebank", "table", "tables"),
}


def calls(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each call that may write or move a file, or remove a folder."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = getattr(node.func.value, "id", "") if isinstance(node.func, ast.Attribute) else ""
        # A path's `replace` has one argument, a text's has two.
        moves = name == "replace" and len(node.args) == 1 and not node.keywords
        parts = [part for given in (*node.args, *(k.value for k in node.keywords)) for part in ast.walk(given)]
        texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        modes = [text for text in texts if 0 < len(text) <= 3 and set(text) <= set("rwxabt+")]
        opens = name == "open" and any(set(mode) & set("wax+") for mode in modes)
        if name in WRITES or opens or moves or (name == "save" and owner in ("np", "numpy", "torch", "onnx")):
            yield name


def readers(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that read a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in MODULES:
            yield node.lineno
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name.rpartition(".")[2] in READERS:
            yield node.lineno
        modes = [a.value for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Constant)]
        if name.endswith("open") and any(mode in ("r", "rb", "rt", "r+b") for mode in modes):
            yield node.lineno


def modules() -> Iterator[tuple[str, ast.AST]]:
    """Yield the name of each module, and what it says."""
    for folder in ("bsx", "analysis"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if not name.startswith(("bsx/analysis/", "bsx/registry/")):
                yield name, ast.parse(file.read_text(encoding="utf-8"))


def test_nothing_reads_past_the_gate() -> None:
    found = {name: line for name, tree in modules() if (line := next(readers(tree), 0))}
    strangers = {name: line for name, line in found.items() if name not in READ_GATE | READ.keys()}
    assert strangers == {}, "read through bsx.data.lines.NamedFile or bsx.data.tables.Table"
    assert READ.keys() - found.keys() == set(), "these read nothing any more"


def test_nothing_writes_past_the_gate() -> None:
    found = {name: set(calls(tree)) for name, tree in modules() if name not in GATE}
    assert {name: more for name, used in found.items() if (more := used - PAST_IT.get(name, set()))} == {}


def options() -> Iterator[tuple[str, str, Any]]:
    """Yield (command, option, how it is declared) of every option whose value is a path."""
    commands: list[tuple[str, Any]] = [("", typer.main.get_command(build(list(COMMANDS))))]
    for name, command in commands:
        below = getattr(command, "commands", {})
        commands += [(f"{name} {called}".strip(), of_group) for called, of_group in below.items()]
        run: Any = command.callback
        for option, parameter in [] if below else inspect.signature(run, eval_str=True).parameters.items():
            declared = next((part for part in get_args(parameter.annotation) if hasattr(part, "writable")), None)
            if "Path" in str(get_args(parameter.annotation)[:1]):
                yield name, option, declared


def test_every_command_declares_what_it_writes() -> None:
    seen = list(options())
    unknown = {f"{command} {option}" for command, option, how in seen if not how.writable and option not in INPUTS}
    assert unknown == set(), "add writable=True to an output; name an input in INPUTS"
    assert {option for _, option, how in seen if how.writable}.isdisjoint(INPUTS)
    assert len({command for command, option, how in seen if option == "output" and how.writable}) >= 15


def test_every_job_that_writes_a_file_is_one_run() -> None:
    jobs = {name: getattr(bsx, name) for name in dir(bsx)}
    writing = {
        name
        for name, job in jobs.items()
        if inspect.isfunction(job) and {"output", "scores_out", "state"} & set(inspect.signature(job).parameters)
    }
    folders = {"train", "train_metric"}
    assert {name for name in writing - folders if not hasattr(jobs[name], "__wrapped__")} == set()
    assert {"score_files", "meta", "factors", "baseline"} < writing
