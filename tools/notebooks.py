"""Run the notebooks and store what they print: ``python tools/notebooks.py [--check] [NOTEBOOK…]``, all unless named.

Each runs from top to bottom in a kernel and a folder of its own. What changes from run to run (times, identifiers, the
version of Python) is not stored. ``--check`` stores nothing and says where outputs are no longer of the stored kind.
The data sets that notebooks name must be in the data folder (``BSX_DATA``).
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a debugger that nobody asked for warns on standard error

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Jupyter's own
    import nbformat
    from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def shapes(notebook: Any) -> list[list[tuple[str, ...]]]:
    """Return the kinds of output of every cell: a stream, or the media types of what is displayed."""
    return [
        [
            (output.output_type, *(sorted(output.data) if "data" in output else [output.get("name", "")]))
            for output in cell.get("outputs", [])
        ]
        for cell in notebook.cells
    ]


ONCE = re.compile(r"bsx: note: .* was converted to .*, once \(.*\)\n")


def merged(outputs: list[Any]) -> list[Any]:
    """Return the outputs with neighbouring pieces of one stream as one: where it is cut is chance.

    Left out is what only the first use of a model on a machine says.
    """
    kept: list[Any] = []
    for output in outputs:
        if kept and output.output_type == "stream" == kept[-1].output_type and output.name == kept[-1].name:
            kept[-1].text += output.text
        else:
            kept.append(output)
    for output in kept:
        if output.output_type == "stream" and output.name == "stderr":
            output.text = ONCE.sub("", output.text)
    return [output for output in kept if output.get("text") != ""]


def run(path: Path) -> Any:
    """Return the notebook with the outputs of a fresh run, and nothing that changes from run to run."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for place, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{place:02}", {}
        if cell.cell_type == "code":
            cell.outputs = merged(cell.outputs)
            for output in cell.outputs:
                if "metadata" in output:
                    output.metadata = {}
    return notebook


def main(arguments: list[str]) -> int:
    paths = [Path(name) for name in arguments if name != "--check"] or sorted((ROOT / "notebooks").glob("*.ipynb"))
    changed = 0
    for path in paths:
        notebook = run(path)
        if "--check" not in arguments:
            nbformat.write(notebook, path)
            print(f"{path.name}: {path.stat().st_size // 1000} kB")
            continue
        stored = shapes(nbformat.read(path, as_version=4))
        for place, (was, now) in enumerate(zip(stored, shapes(notebook), strict=True)):
            if was != now:
                changed += 1
                print(f"{path.name}, cell {place}: {was} is stored, {now} came out: make notebooks stores it anew")
    return min(changed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
