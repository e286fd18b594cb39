"""Keeping an ensemble of columns as a metric."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.errors import BsxError, InputError

if TYPE_CHECKING:
    from bsx.analysis.ensembles.run import Combined
    from bsx.catalog.catalog import Catalog
    from bsx.catalog.combination import Member

_NAME = re.compile(r"^[A-Za-z0-9][\w+-]*$")


def place_of(name: str, registry: Path | None) -> Path:
    """Return the file of an ensemble of this name, or of this file."""
    from bsx.catalog.overlay import ensemble_file

    return Path(name) if name.endswith((".yaml", ".yml")) else ensemble_file(name, registry)


def new_place(name: str, registry: Path | None) -> Path:
    """Return the file that an ensemble is to be saved in.

    Raises:
        InputError: if it is no name, or is there already: an ensemble that is in use is never replaced.
    """
    file = Path(name) if name.endswith((".yaml", ".yml")) else None
    if not _NAME.match(name if file is None else file.stem):
        raise InputError(f"`save={name}`: a name has letters, digits, -, _ and +; a file ends in .yaml")
    place = place_of(name, registry)
    if place.exists():
        raise InputError(f"`save={name}`: {place} is there already: choose another name, or remove it first")
    return place


def save_ensemble(
    found: Combined,
    name: str,
    members: Sequence[str],
    human: str,
    files: Sequence[Path],
    signatures: Mapping[str, str],
    registry: Path | None,
) -> Path:
    """Write an ensemble as YAML; members of weight 0 are left out.

    Args:
        found: the ensemble.
        name: what to call it, or the path of a ``.yaml`` file.
        members: ``column=metric`` where a column is not called as its metric.
        human: column it was fitted to.
        files: tables it was fitted on.
        signatures: column -> signature, where known.
        registry: folder to save in; the user's own if None.

    Raises:
        InputError: naming the column that is not a metric bsx can build, or whose direction is not the metric's; or if
            there is an ensemble of that name or file already.
    """
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.entries.metrics import EnsembleEntry, EnsembleOrigin
    from bsx.catalog.overlay import write_ensemble
    from bsx.support.provenance import provenance

    file = Path(name) if name.endswith((".yaml", ".yml")) else None
    stem = name if file is None else file.stem
    new_place(name, registry)
    specs = dict(_named(part, found.combination.weights) for part in members)
    used = [member for member in found.combination.members if member.weight]
    catalog = load_registry(registry if registry is not None and registry.is_dir() else None)
    renamed = [
        member.model_copy(
            update={"metric": _spec(member, specs.get(member.metric), signatures.get(member.metric, ""), catalog)}
        )
        for member in used
    ]
    twice = [one.metric for one in renamed if [other.metric for other in renamed].count(one.metric) > 1]
    if twice:
        raise InputError(f"`save=`: two members are the metric {twice[0]}; one column of it is enough")
    source = provenance("ensemble", files)
    fitted = EnsembleOrigin(
        rows=found.result.fitted,
        human=human,
        files=source["files"],
        command=source["command"],
        versions=source["versions"],
        signatures={
            after.metric: signatures[before.metric]
            for before, after in zip(used, renamed, strict=True)
            if before.metric in signatures
        },
    )
    combination = found.combination.model_copy(update={"members": renamed})
    return write_ensemble(EnsembleEntry(name=stem, combination=combination, fitted=fitted), registry, file)


def _named(part: str, columns: Iterable[str]) -> tuple[str, str]:
    """Cut ``column=metric`` after a column; both sides may have a = of their own."""
    for column in columns:
        if part.startswith(f"{column}="):
            return column, part.removeprefix(f"{column}=")
    raise InputError(f"`member={part}`: write COLUMN=METRIC with one of the columns {', '.join(columns)}")


def _spec(member: Member, given: str | None, signature: str, catalog: Catalog) -> str:
    """Return how `bsx.get_metric` calls a member, after checking that it can, without loading any model.

    What the run decided that scored it, its model and its tokenizer, is added from the column's signature.
    """
    from bsx.catalog.specs import read_spec
    from bsx.metrics.zoo import check_from_file, config_of, find_metric

    spec = given if given is not None else member.metric
    try:
        name, settings = read_spec(spec)
        kind, entry = find_metric(name, catalog)
        config = config_of(kind, entry, settings, {})
        check_from_file(spec, "the file", catalog)
    except BsxError as error:
        hint = "" if given is not None else f"; say which metric the column holds with `member={spec}=METRIC`"
        raise InputError(f"`save=`: {str(error).removesuffix('.')}{hint}") from error
    if name == "ensemble":
        raise InputError(f"`save=`: {spec} is an ensemble itself; name its members instead")
    if entry.higher_is_better == member.lower:
        better = "higher" if entry.higher_is_better else "lower"
        wanted = "must not" if entry.higher_is_better else "must"
        raise InputError(f"`save=`: of {name}, {better} is better: `lower=` {wanted} name {member.metric}")
    scored = dict(part.partition(":")[::2] for part in signature.split("|"))
    then = {"model": scored.get("model", "").rpartition("@")[0], "tokenize": scored.get("tokenize", "")}
    known = {
        "model": catalog.find(then["model"]) is not None,
        "tokenize": then["tokenize"] not in ("13a", "white-space"),
    }
    more = [
        f"{field}={value}"
        for field, value in then.items()
        if value and known[field] and getattr(config, field, "") is None
    ]
    return ",".join([spec + ":" + more[0] if ":" not in spec else f"{spec},{more[0]}", *more[1:]]) if more else spec
