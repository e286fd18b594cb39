"""Writing entries to the user's own registry folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from bsx.catalog.entries import Entry, sealed, validate
from bsx.catalog.entries.metrics import EnsembleEntry
from bsx.catalog.entries.models import Baseline, ModelEntry
from bsx.data.output import atomic_text, make_folder
from bsx.data.run import check_output
from bsx.errors import RegistryError
from bsx.support.folders import user_folder


def overlay_folder(named: Path | None) -> Path:
    """Return the folder to write to, made if need be: ``named``, or the user's registry folder."""
    return make_folder(named if named is not None else user_folder())


def _content(entry: BaseModel) -> dict[str, object]:
    """Return what to write: without what is None, unless the entry must say that it is, or would be something else."""

    def plain(value: object) -> object:
        if isinstance(value, BaseModel):
            return _content(value)
        return [plain(item) for item in value] if isinstance(value, list) else value

    fields = type(entry).model_fields
    values = {name: plain(getattr(entry, name)) for name in fields}
    return {name: value for name, value in values.items() if value is not None or fields[name].default is not None}


def _write(file: Path, entry: Entry, *, private: bool = True) -> Path:
    """Write an entry that is right when it is read again; otherwise nothing is written."""
    import yaml

    text = yaml.safe_dump(_content(entry), sort_keys=False, allow_unicode=True, width=120)
    if validate(type(entry), yaml.safe_load(text), file) != entry:
        raise RegistryError("the entry would not be the same when it is read again; nothing was written", file=file)
    make_folder(file.parent)
    with atomic_text(file, internal=private) as stream:
        stream.write(sealed(text) if isinstance(entry, EnsembleEntry) else text)
    return file


def write_model(entry: ModelEntry, named: Path | None = None) -> Path:
    """Write a model's entry to the overlay, where it wins over the shipped one, and return the file."""
    return _write(overlay_folder(named) / "models" / f"{entry.name}.yaml", entry)


def write_baseline(baseline: Baseline, named: Path | None = None) -> Path:
    """Write a baseline to the overlay and return the file."""
    return _write(overlay_folder(named) / "baselines" / baseline.language / f"{baseline.model}.yaml", baseline)


def ensemble_file(name: str, named: Path | None = None) -> Path:
    """Return where `write_ensemble` keeps an ensemble."""
    return (named if named is not None else user_folder()) / "ensembles" / f"{name}.yaml"


def write_ensemble(entry: EnsembleEntry, named: Path | None = None, file: Path | None = None) -> Path:
    """Write an ensemble to the overlay, or to a file of its own, and return the file."""
    if file is not None:
        check_output(file)
        return _write(file, entry, private=False)
    return _write(overlay_folder(named) / "ensembles" / f"{entry.name}.yaml", entry)
