"""Linear rescaling of scores by the mean score of unrelated sentence pairs.

Source: Zhang et al. 2020, section 3: s' = (s - b) / (1 - b), with a separate b for P, R, F1 and for each layer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries import read_entry
from bsx.catalog.entries.models import Baseline
from bsx.data.columns import read_columns
from bsx.data.tables import Table
from bsx.encode.model import Choice
from bsx.errors import BsxError, InputError
from bsx.support.provenance import Signature, other_weights

_HIGHEST = 0.999
"""The highest baseline that scores are rescaled by; of 82 published tables none has one above .985."""


@dataclass(frozen=True)
class LayerBaselines:
    """Baselines of one model, ready to apply.

    Attributes:
        figures: array (layers + 1, 3) of P, R, F1.
        origin: where they come from, for messages.
        notes: what the user should know about them.
    """

    figures: NDArray[np.float32]
    origin: str
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Sha256 of the figures, so that a changed baseline changes the signature."""
        return hashlib.sha256(self.figures.tobytes()).hexdigest()

    def check(self, layers: Sequence[int]) -> None:
        """Refuse baselines that leave next to nothing of the scale.

        Raises:
            InputError: naming a layer whose figures are too near 1.
        """
        for layer in layers:
            highest = float(self.figures[layer].max())
            if highest > _HIGHEST:
                raise InputError(
                    f"{self.origin}: the baseline of layer {layer} is {highest:.7g}: dividing by 1 minus it makes "
                    f"{1 / (1 - highest):,.0f} of 1; scores are rescaled by baselines up to {_HIGHEST}. Drop "
                    "rescale, or use another layer"
                )

    def apply(self, scores: NDArray[np.float32], layers: Sequence[int]) -> NDArray[np.float32]:
        """Rescale raw P, R, F1 (layers, n, 3), of which each row of the first axis is one of these layers."""
        b = self.figures[list(layers)][:, None, :]  # a tuple would be one index of many axes
        return ((scores - b) / (1 - b)).astype(np.float32)


def find_baseline(layers: int, choice: Choice, catalog: Catalog, identity: str) -> LayerBaselines:
    """Look up the registry's baseline for a model of so many layers and the language it is used for.

    The language is the one asked for, or the only language of a monolingual model; ``identity`` is what
    `bsx.encode.model.LocatedModel` says of the weights.

    Raises:
        InputError: if there is none, or it was made with other weights; says how to bring one. Scores are never left
            raw in silence.
    """
    code = _language(choice)
    if code is None:
        raise InputError(f"rescaling {choice.name} needs the language of the texts: add lang")
    baseline = catalog.baseline(code, choice.name)
    if baseline is None:
        others = ", ".join(catalog.baseline_languages(choice.name))
        known = f"has them for {others}" if others else "has none for this model"
        raise InputError(
            f"no rescaling baseline for {choice.name} in {code!r} (the registry {known}): "
            f"`bsx registry baseline {choice.name} --lang {code} --corpus FILE --write` makes "
            "one; or drop rescale"
        )
    return _from_entry(baseline, identity, f"registry: {code}/{choice.name}", layers)


def read_baseline(path: Path, layers: int, choice: Choice, catalog: Catalog, identity: str) -> LayerBaselines:
    """Read a baseline file: bsx's YAML, or bert-score's CSV with the columns LAYER,P,R,F.

    YAML says which model and language it is for. A CSV says nothing, but bert-score's are called after the model, in a
    folder called after the language: ``en/roberta-large.tsv``.

    What the file says is held against the model's name and languages; other arguments are as for `find_baseline`.

    Raises:
        InputError: if the file is missing, malformed, of another model, or has another number of layers than the model.
    """
    if not path.exists():
        raise InputError("there is no such baseline file", file=path)
    if path.suffix in (".yaml", ".yml"):
        entry = read_entry(Baseline, path)
        notes = _check_model(entry.model, entry.language, choice, catalog, path)
        return replace(_from_entry(entry, identity, str(path), layers), notes=notes)
    try:
        layer, *figures = read_columns(Table(path, separator=",", quoted=True), ("LAYER", "P", "R", "F")).values()
        table = np.array(figures, dtype=np.float64).T
    except BsxError as error:
        raise InputError(f"not a baseline file; expected YAML or CSV with LAYER,P,R,F ({error})", file=path) from error
    if np.isnan(table).any():
        raise InputError("not a baseline file: has a layer without P, R or F", file=path)
    if not np.array_equal(layer, np.arange(len(table))):
        raise InputError("the column LAYER must count up from 0", file=path)
    named = catalog.find(path.stem)
    if named is None or choice.entry is None:
        return _checked(table, str(path), layers)
    folder = path.absolute().parent.name
    notes = _check_model(named.name, folder if folder in catalog.languages else None, choice, catalog, path)
    return replace(_checked(table, str(path), layers), notes=notes)


def _language(choice: Choice) -> str | None:
    """Return the language asked for, else the only one of a monolingual model."""
    if choice.language is not None:
        return choice.language.code
    known = choice.entry.languages if choice.entry is not None else []
    return known[0] if isinstance(known, list) and len(known) == 1 else None


def _check_model(model: str, language: str | None, choice: Choice, catalog: Catalog, path: Path) -> tuple[str, ...]:
    """Refuse a file that is for another model, and return what is to be said if it is for another language."""
    known = catalog.find(model)
    asked = choice.name if choice.entry is not None or choice.source.hub else Path(choice.name).resolve().name
    if (known.name if known is not None else model) != asked:
        raise InputError(
            f"is the baseline of {model}, the model is {choice.name}: mean cosines of one say nothing about "
            "another; `bsx registry baseline` makes one",
            file=path,
        )
    code = _language(choice)
    if language in (None, code):
        return ()
    used = f"the texts are {code}" if code is not None else "nothing says which language the texts are in (lang)"
    return (f"{path}: is the baseline of {model} for {language!r}; {used}",)


def _from_entry(entry: Baseline, identity: str, origin: str, layers: int) -> LayerBaselines:
    """Return a baseline, unless its signature names other weights than the model's, digest against digest."""
    made_with = Signature.read(entry.source.rpartition("; ")[2]).get("model")
    if other_weights(made_with, identity):
        raise InputError(
            f"{origin}: this baseline was made with the weights {made_with}, the model's are {identity}: "
            "`bsx registry baseline` makes one; or drop rescale"
        )
    return _checked(np.array([entry.precision, entry.recall, entry.f1], dtype=np.float64).T, origin, layers)


def _checked(table: NDArray[np.float64], origin: str, layers: int) -> LayerBaselines:
    with np.errstate(over="ignore"):
        figures = np.ascontiguousarray(table, dtype=np.float32)
    if len(figures) != layers + 1:
        raise InputError(f"{origin}: has figures for layers 0 to {len(figures) - 1}, the model has 0 to {layers}")
    if not ((figures >= -1) & (figures < 1)).all():
        raise InputError(f"{origin}: every figure must lie in [-1, 1): it is a mean cosine that scores are rescaled by")
    return LayerBaselines(figures, origin)
