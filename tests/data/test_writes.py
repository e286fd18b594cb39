"""Nothing in the code writes past the output gate, and every command and job says what it writes."""

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


def test_nothing_writes_past_the_gate() -> None:
    found: dict[str, set[str]] = {}
    for folder in ("bsx", "analysis"):
        for file in (ROOT / folder).rglob("*.py"):
            name = file.relative_to(ROOT).as_posix()
            if name not in GATE and not name.startswith("bsx/analysis/"):
                found[name] = set(calls(ast.parse(file.read_text(encoding="utf-8"))))
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
