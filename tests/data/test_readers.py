"""One gate for what is read: no other module opens files for reading, but for the reasons given here."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.test_rooms import ROOT

GATE = {"bsx/data/lines.py", "bsx/data/tables.py", "bsx/catalog/entries/__init__.py"}

# Files that bsx wrote itself or that come with it, and formats of libraries.
OWN: dict[str, str] = {
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


def test_nothing_reads_past_the_gate() -> None:
    found = {
        str(file.relative_to(ROOT)): f"{file.relative_to(ROOT)}:{line}"
        for folder in ("bsx", "analysis")
        for file in sorted((ROOT / folder).rglob("*.py"))
        for line in readers(ast.parse(file.read_text(encoding="utf-8")))
        if not str(file.relative_to(ROOT)).startswith(("bsx/analysis", "bsx/registry"))
    }
    strangers = {name: place for name, place in found.items() if name not in GATE | OWN.keys()}
    assert not strangers, f"read through bsx.data.lines.NamedFile or bsx.data.tables.Table: {list(strangers.values())}"
    gone = OWN.keys() - found.keys()
    assert not gone, f"these read nothing any more: {gone}"
