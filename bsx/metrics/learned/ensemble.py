"""A saved ensemble: the normalised and weighted scores of other metrics, added up."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries import read_entry
from bsx.catalog.entries.metrics import EnsembleEntry, MetricEntry
from bsx.catalog.specs import read_spec
from bsx.data.corpus import Corpus
from bsx.encode.idf import IdfCounter
from bsx.errors import InputError
from bsx.metrics.base import Metric, check_from_file, get_metric, needs_of
from bsx.metrics.core import BY_SCRIPT, Block, BlockScores, Fitted, MetricConfig, Reading
from bsx.metrics.run import fill_undefined
from bsx.support.provenance import SOFTWARE, Signature

_OF_LANGUAGE = ("tokenize", "tokenizer", "asian_support", "normalized", "drop_subwords")
"""Fields of members' signatures that say how a language's words are cut."""


class EnsembleConfig(MetricConfig):
    """Settings of an ensemble."""

    positional: ClassVar[str | None] = "file"
    file: Annotated[
        str | None, Field(description="Name of a saved ensemble, or its YAML file; may be written ensemble:NAME.")
    ] = None

    def reads(self, entry: MetricEntry, catalog: Catalog) -> frozenset[str]:
        """Return what its members read together."""
        members = read_ensemble(self.file, catalog).combination.members
        return frozenset(need for member in members for need in needs_of(member.metric, catalog))


def read_ensemble(named: str | None, catalog: Catalog) -> EnsembleEntry:
    """Return a saved ensemble, by its name in the registry or the path of a YAML file (with a ``/`` or an ending).

    Raises:
        InputError: if nothing is named, the file is missing, a member is itself an ensemble, or it sets what only the
            user may.
        UnknownNameError: for an unknown name.
        RegistryError: for a file that is not an ensemble.
    """
    if named is None:
        raise InputError(
            "say which ensemble: ensemble:NAME, or ensemble:FILE.yaml; `bsx ensemble … --save NAME` makes one"
        )
    file = Path(named).expanduser()
    if file.suffix in (".yaml", ".yml") or len(file.parts) > 1:
        if not file.is_file():
            raise InputError(f"there is no file {named} with an ensemble")
        entry, where = read_entry(EnsembleEntry, file), str(file)
    else:
        entry = catalog.ensemble(named)
        where = str(catalog.origins["ensemble", named])
    for member in entry.combination.members:
        if read_spec(member.metric)[0] == "ensemble":
            raise InputError(f"ensemble {named}: {member.metric} is an ensemble itself; name its members instead")
        check_from_file(member.metric, where, catalog)
    return entry


class Ensemble(Metric[EnsembleConfig]):
    """Weighted sum of members' normalised scores. Source: Kaster, Zhao & Eger 2021, section 6.2, for z-averages."""

    Config = EnsembleConfig

    def setup(self) -> None:
        """Read the file and build the members on the run's encoders.

        Raises:
            InputError: if a member is set up otherwise than when it was scored: its normalisation and weight would not
                fit. Model, language and precision count, whoever sets them; the corpus does not, and other versions are
                a note.
        """
        self._saved = read_ensemble(self.config.file, self.encoders.catalog)
        self.encoders.uses_entry("ensemble", str(self.config.file))
        self._combination = self._saved.combination
        self._members = [get_metric(member.metric, encoders=self.encoders) for member in self._combination.members]
        known = self._saved.fitted.signatures
        self._then = {member.spec: Signature.read(known.get(member.spec, "")) for member in self._members}
        for member in self._members:
            now, then = member.signature(None), self._then[member.spec]
            if settings := [name for name in _changed(member, then) if name not in SOFTWARE]:
                was = [f"{name} {then.get(name) or 'none'} (now {now.get(name) or 'none'})" for name in settings]
                raise InputError(
                    f"ensemble {self._saved.name}: its member {member.spec} was fitted with {', '.join(was)}: set it "
                    "up like that again, or fit the ensemble anew"
                )

    @property
    def bytes_per_token(self) -> int:
        """Memory a token of a block takes in all members."""
        return sum(member.bytes_per_token for member in self._members)

    def memory(self, candidate: str, other: str) -> int:
        """Return what the member that takes most takes."""
        return max(member.memory(candidate, other) for member in self._members)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the members' notes, and say where other versions run than when the ensemble was fitted."""
        notes = [note for member in self._members for note in member.notes]
        for member in self._members:
            then = self._then[member.spec]
            if set(_changed(member, then)) - set(_cut_otherwise(member.signature(None), then)):
                notes.append(f"{self.spec}: {member.spec} was fitted with other versions: {then}")
        return tuple(dict.fromkeys(notes))

    def signature_fields(self, fitted: list[Fitted] | None) -> dict[str, object]:
        """Return the ensemble's name and digest, its rule, and weight and signature of each member."""
        content = json.dumps(self._combination.model_dump(), sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        learnt = fitted if fitted is not None else [None] * len(self._members)
        terms = []
        for term, member, of_corpus in zip(self._combination.members, self._members, learnt, strict=True):
            signature = str(member.signature(of_corpus).without_notes()).replace("|", " ")
            terms.append(f"{term.weight:.6g} * ({signature})")
        return {
            "file": f"{self._saved.name}@{digest}",
            "how": self._combination.how,
            "normalise": self._combination.normalise,
            "members": " + ".join(terms),
        }

    @property
    def counts(self) -> str | None:
        """What its first member counts that counts anything."""
        return next((member.counts for member in self._members if member.counts is not None), None)

    def count(self, corpus: Corpus) -> list[IdfCounter]:
        """Let every member count that does; see `Metric.count`."""
        return [counter for member in self._members if member.counts for counter in member.count(corpus)]

    def fit(self, corpus: Reading) -> list[Fitted]:
        """Let every member read the corpus, and say where its language or script asks for other words than then."""
        learnt = [member.fit(corpus) for member in self._members]
        other = []
        for member, of_corpus in zip(self._members, learnt, strict=True):
            now, then = member.signature(of_corpus), self._then[member.spec]
            other += [f"{member.spec} with {name} {then[name]}, now {now[name]}" for name in _cut_otherwise(now, then)]
        note = f"{self.spec} was fitted on texts of another language ({'; '.join(other)}): scale and weights are theirs"
        self.encoders.remark(f"{self.spec} members", note if other else None)
        return learnt

    def score_block(self, block: Block, fitted: list[Fitted]) -> BlockScores:
        """Score rows with every member and add up; a row counts as undefined if it is for one of them."""
        parts: dict[str, BlockScores] = {}
        for term, member, learnt in zip(self._combination.members, self._members, fitted, strict=True):
            parts[term.metric] = scores = member.score_block(block, learnt)
            fill_undefined(member, scores)
            member.refuse_missing(scores.values)
        empty, undefined, lost = (
            np.max([getattr(scores, name) for scores in parts.values()], axis=0)
            for name in ("empty", "undefined", "lost")
        )
        values = self._combination.apply({metric: scores.values for metric, scores in parts.items()})
        return BlockScores(values, empty, lost, undefined=undefined & ~empty)


def _cut_otherwise(now: Signature, then: Signature) -> list[str]:
    """Return the fields by which a language's words are cut otherwise; an encoder's tokenizer is none of them."""
    both = [name for name in _OF_LANGUAGE if now.get(name) and then.get(name)]
    return [name for name in both if "@" not in then[name] and now[name] != then[name]]


def _changed(member: Metric, then: Signature) -> list[str]:
    """Return the fields in which a member differs from a signature; what depends on the corpus is none of them."""
    now = member.signature(None)
    of_corpus = {"refs", "bsx", "idf", *(name for name, value in now.fields if value == BY_SCRIPT)}
    known = dict(now.fields).keys() & dict(then.fields).keys() - of_corpus
    return [name for name in now.differs(then) if name in known or (known and name == "entry")]
