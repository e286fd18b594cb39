"""Carry the rescaling baselines of the installed bert-score package over into registry/baselines/.

Run: python tools/carry_baselines.py            (writes one file for each table of that package)
     python tools/carry_baselines.py --check    (fails if a file differs from what would be written)

Only figures are carried over; each file names the package and version it took them from.
"""

from __future__ import annotations

import csv
import sys
from importlib import metadata, resources
from pathlib import Path

from bsx.catalog.catalog import Catalog

REGISTRY = Path(__file__).resolve().parent.parent / "registry"
CORPUS = "random sentence pairs as described by bert-score: 1M pairs of Common Crawl (paper) or news (released script)"


def rendered(language: str, model: str, table: Path, place: str) -> str:
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    if [int(row["LAYER"]) for row in rows] != list(range(len(rows))):
        raise SystemExit(f"{table}: layers are not consecutive")
    columns = {
        name: ", ".join(row[key] for row in rows) for name, key in (("precision", "P"), ("recall", "R"), ("f1", "F"))
    }
    version = metadata.version("bert-score")
    return (
        f"# Figures carried over by tools/carry_baselines.py; layer 0 comes first.\n"
        f"language: '{language}'\n"
        f"model: {model}\n"
        f"source: bert-score {version}, rescale_baseline/{place}\n"
        f"corpus: '{CORPUS}'\n" + "".join(f"{name}: [{values}]\n" for name, values in columns.items())
    )


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    catalog = Catalog(REGISTRY)
    shipped = Path(str(resources.files("bert_score"))) / "rescale_baseline"
    stale = []
    for table in sorted(shipped.rglob("*.tsv")):
        place = table.relative_to(shipped).as_posix()
        language, _, name = place.removesuffix(".tsv").partition("/")
        entry = catalog.find(name)
        if entry is None:
            raise SystemExit(f"{place}: there is no model {name!r} in the registry")
        target = REGISTRY / "baselines" / language / f"{entry.name}.yaml"
        text = rendered(language, entry.name, table, place)
        if check:
            if not target.is_file() or target.read_text(encoding="utf-8") != text:
                stale.append(target)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        print(target.relative_to(REGISTRY.parent))
    if stale:
        raise SystemExit(f"not as carried over: {', '.join(map(str, stale))}")


if __name__ == "__main__":
    main()
