"""Writing entries to the user's own registry folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from bsx.catalog.entries import sealed, validate
from bsx.catalog.entries.metrics import EnsembleEntry
from bsx.catalog.entries.models import Baseline, ModelEntry
from bsx.data.output import atomic_text, make_folder
from bsx.data.run import check_output
from bsx.errors import RegistryError
from bsx.support.folders import user_folder


def overlay_folder(named: Path | None) -> Path:
    """Return the folder to write to, made if need be: ``named``, or the user's registry folder."""
    return make_folder(named or user_folder())


def _content(entry: BaseModel) -> dict[str, object]:
    """Return what to write: without what is None, unless the entry must say that it is, or would be something else."""

    def plain(value: object) -> object:
        if isinstance(value, BaseModel):
            return _content(value)
        return [plain(item) for item in value] if isinstance(value, list) else value

    fields = type(entry).model_fields
    values = {name: plain(getattr(entry, name)) for name in fields}
    return {name: value for name, value in values.items() if value is not None or fields[name].default is not None}


def write_entry(
    entry: ModelEntry | Baseline | EnsembleEntry, named: Path | None = None, file: Path | None = None
) -> Path:
    """Write an entry to the overlay, where it wins over the shipped one, or to a file of its own; return the file.

    Nothing is written, and RegistryError raised, unless the entry is right when it is read again.
    """
    import yaml

    private = file is None
    if file is not None:
        check_output(file)
    elif isinstance(entry, Baseline):
        file = overlay_folder(named) / "baselines" / entry.language / f"{entry.model}.yaml"
    else:
        kind = "models" if isinstance(entry, ModelEntry) else "ensembles"
        file = overlay_folder(named) / kind / f"{entry.name}.yaml"
    text = yaml.safe_dump(_content(entry), sort_keys=False, allow_unicode=True, width=120)
    if validate(type(entry), yaml.safe_load(text), file) != entry:
        raise RegistryError("the entry would not be the same when it is read again; nothing was written", file=file)
    make_folder(file.parent)
    with atomic_text(file, internal=private) as stream:
        stream.write(sealed(text) if isinstance(entry, EnsembleEntry) else text)
    return file
