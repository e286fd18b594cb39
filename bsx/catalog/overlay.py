"""Writing entries to the user's own registry folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bsx.catalog.entries import Baseline, EnsembleEntry, ModelEntry
from bsx.errors import InputError
from bsx.support.folders import user_folder


def overlay_folder(named: Path | None) -> Path:
    """Return the folder to write to, made if need be: ``named``, or the user's registry folder."""
    folder = named if named is not None else user_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from error
    return folder


def _write(file: Path, content: Mapping[str, object]) -> Path:
    import yaml

    from bsx.data.output import atomic_text

    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_text(file) as stream:
        yaml.safe_dump(content, stream, sort_keys=False, allow_unicode=True, width=120)
    return file


def write_model(entry: ModelEntry, named: Path | None = None) -> Path:
    """Write a model's entry to the overlay, where it wins over the shipped one, and return the file."""
    folder = overlay_folder(named)
    return _write(folder / "models" / f"{entry.name}.yaml", entry.model_dump(exclude_none=True))


def write_baseline(baseline: Baseline, named: Path | None = None) -> Path:
    """Write a baseline to the overlay and return the file."""
    folder = overlay_folder(named)
    return _write(folder / "baselines" / baseline.language / f"{baseline.model}.yaml", baseline.model_dump())


def write_ensemble(entry: EnsembleEntry, named: Path | None = None, file: Path | None = None) -> Path:
    """Write an ensemble to the overlay, or to a file of its own, and return the file."""
    if file is None:
        file = overlay_folder(named) / "ensembles" / f"{entry.name}.yaml"
    elif not file.parent.is_dir():
        raise InputError(f"{file}: the folder {file.parent} does not exist")
    return _write(file, entry.model_dump(exclude_none=True))
