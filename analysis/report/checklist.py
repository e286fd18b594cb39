"""Which of what a paper's evaluation should say stands in files of results, each with the figure and its file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bsx.analysis.adversarial.challenge import ChallengeResult
from bsx.analysis.adversarial.pairs import PairsResult
from bsx.analysis.adversarial.result import Robustness
from bsx.analysis.adversarial.triples import TriplesResult
from bsx.analysis.agreement.answer import EvaluationResult
from bsx.analysis.agreement.raters import RaterAgreement
from bsx.analysis.agreement.result import CompareResult, Judgments, MetaResult, MetricAgreement
from bsx.analysis.checklist import Checklist, ChecklistItem, Status
from bsx.analysis.report.documents import Document, ScoreRows
from bsx.catalog.catalog import Catalog
from bsx.catalog.specs import read_spec
from bsx.errors import BsxError, InputError
from bsx.support.provenance import FileRead, Provenance
from bsx.support.result import Result
from bsx.support.signature import Signature

_MARIE = "Marie, Fujita & Rubino 2021"
_KOCMI = "Kocmi et al. 2024"
_POST = "Post 2018"
_CORRECTED = {"holm": "after Holm", "bh": "after Benjamini-Hochberg"}
_TESTS = {"bootstrap": "paired bootstrap", "randomise": "approximate randomisation"}
_CANDIDATES = re.compile(r" --candidates?[ =]('[^']*'|\S+)")
_NAMED = 4  # names that a cell has room for

_ResultT = TypeVar("_ResultT", bound=Result)


@dataclass(frozen=True)
class _Found:
    """What files say about an item."""

    status: Status
    figure: str
    file: str


class _Files:
    """The results of all files, those inside others too, each with the name of its file."""

    def __init__(self, documents: Sequence[Document], catalog: Catalog) -> None:
        self.documents = sorted(documents, key=lambda document: isinstance(document.content, ScoreRows))
        self.catalog = catalog
        self.results = [(document.name, one) for document in documents for one in _inside(document.content)]
        self._others = _on_other_data(documents)

    def of_these(self, name: str) -> bool:
        """Tell whether a file rests on the data of the systems, as far as files say what they rest on."""
        return name not in self._others

    def of(self, kind: type[_ResultT]) -> list[tuple[str, _ResultT]]:
        """Return the results of a kind with their files."""
        return [(name, one) for name, one in self.results if isinstance(one, kind)]

    @property
    def signatures(self) -> dict[str, tuple[str, str]]:
        """Each metric's signature, which may be empty, and its file; controls are no metrics."""
        found: dict[str, tuple[str, str]] = {}
        for name, compared in self.of(CompareResult):
            for one in compared.metrics:
                found.setdefault(one.metric, (one.signature or compared.signatures.get(one.metric, ""), name))
        for name, meta in self.of(MetaResult):
            for metric in meta.metrics if self.of_these(name) else ():
                found.setdefault(metric, (meta.signatures.get(metric, ""), name))
        for name, evaluated in self.of(EvaluationResult):
            for metric in evaluated.metrics:
                found.setdefault(metric, (evaluated.signatures.get(metric, ""), name))
        for document in self.documents:
            rows = document.content
            if isinstance(rows, ScoreRows) and rows.sidecar is not None:
                for entry in rows.sidecar.metrics:
                    if not entry.control:
                        found.setdefault(entry.metric, (entry.signature, document.name))
        controls = {name for _, meta in self.of(MetaResult) for name in meta.sentinels}
        return {metric: known for metric, known in found.items() if metric not in controls}

    @property
    def data(self) -> list[tuple[str, FileRead]]:
        """The files that results about systems were made from, each with the file that says so."""
        return [(name, file) for name, origin in self._origins() for file in origin.files]

    def _origins(self) -> Iterator[tuple[str, Provenance]]:
        for document in self.documents:
            origin = _origin(document)
            if origin is not None and _of_systems(document.content):
                yield document.name, origin

    def table(self) -> str:
        """Return the name of the first data file, for a command."""
        return shlex.quote(self.data[0][1].name) if self.data else "TABLE"

    def columns(self) -> str:
        """Return the option that names a column for each system, if they have one; `bsx evaluate` finds them itself."""
        for _, evaluated in self.of(EvaluationResult):
            for chosen in evaluated.choices:
                if chosen.about == "systems" and chosen.command.startswith("--candidate"):
                    return f" --candidate {shlex.quote(chosen.chosen.replace(', ', ','))}"
        for _, origin in self._origins():
            if found := _CANDIDATES.search(origin.command):
                return f" --candidate {found[1]}"
        return ""

    def named(self) -> str:
        """Return the metrics, for a command."""
        return shlex.quote(",".join(self.signatures)) if self.signatures else "METRICS"


def _inside(content: ScoreRows | Result) -> Iterator[Result]:
    if isinstance(content, EvaluationResult):
        yield from (one for one in (content.compare, content.meta) if one is not None)
    elif isinstance(content, Judgments):
        yield from content.judgments
    if isinstance(content, Result):
        yield content


def _origin(document: Document) -> Provenance | None:
    content = document.content
    if isinstance(content, ScoreRows):
        return None if content.sidecar is None else content.sidecar.provenance
    return content.provenance


def _of_systems(content: ScoreRows | Result) -> bool:
    """Tell whether something is about the systems of a paper, and not about metrics on data of any kind."""
    return isinstance(content, ScoreRows | EvaluationResult | CompareResult)


def check(documents: Sequence[Document], catalog: Catalog) -> Checklist:
    """Return which of what a paper's evaluation should say stands in some documents.

    Args:
        documents: from `bsx.analysis.report.documents.read_document`.
        catalog: the registry, which knows what kind a metric is.

    Raises:
        InputError: if there are none, they hold nothing that the checklist reads, or are about different data.
    """
    if not documents:
        raise InputError("a checklist needs at least one file of results")
    for document in documents:
        if isinstance(document.content, ScoreRows) and not document.content.metrics:
            raise InputError("holds no scores of known metrics: columns names them", file=document.name)
    _refuse_mixed(documents)
    files = _Files(documents, catalog)
    items = []
    for asked in _ASKED:
        found = asked.look(files)
        known = _Found("not done", "", "") if found is None else found
        how = (
            ""
            if known.status == "done"
            else asked.how.format(table=files.table(), columns=files.columns(), metrics=files.named())
        )
        items.append(ChecklistItem(asked.name, asked.asks, known.status, known.figure, known.file, how, asked.source))
    return Checklist(items=tuple(items), files=tuple(document.name for document in documents))


def _on_other_data(documents: Sequence[Document]) -> set[str]:
    """Return the names of files that rest on none of the data that those about systems rest on."""
    known = [(document, _rests_on(document)) for document in documents]
    systems = {digest for document, digests in known if _of_systems(document.content) for digest in digests}
    return {document.name for document, digests in known if systems and digests.isdisjoint(systems)}


def _rests_on(document: Document) -> set[str]:
    """Return the digests of a document's data, with its own; empty if it does not say."""
    origin = _origin(document)
    if origin is None or not origin.files:
        return set()
    return {file.sha256 for file in origin.files} | ({document.sha256} if document.sha256 else set())


def _refuse_mixed(documents: Sequence[Document]) -> None:
    """Refuse results about systems that rest on different data, of those that say what they rest on."""
    known: list[tuple[Document, set[str]]] = []
    for document in documents:
        if _of_systems(document.content) and (own := _rests_on(document)):
            known.append((document, own))
    if not known:
        return
    first, together = known[0]
    left = known[1:]
    while near := [one for one in left if one[1] & together]:
        together = together.union(*(digests for _, digests in near))
        left = [one for one in left if one not in near]
    if left:
        names = [", ".join(file.name for file in getattr(_origin(one), "files", [])) for one in (first, left[0][0])]
        both = f"{first.name} and {left[0][0].name} are about different data ({names[0]} and {names[1]})"
        raise InputError(f"{both}: make a checklist for each, or name the table too that one was made from")


def _test_set(files: _Files) -> _Found | None:
    if not files.data:
        return None
    name, _ = files.data[0]
    read = list(dict.fromkeys((file.name, file.sha256[:12]) for of, file in files.data if of == name))
    said = ", ".join(f"{of} ({digest})" for of, digest in read[:_NAMED])
    for of, compared in files.of(CompareResult):
        where = f"{compared.segments:,} segments"
        if compared.documents is not None:
            where += f" of {compared.documents:,} documents"
        return _Found("done", f"{said}: {where}", name if of == name else of)
    counts = [len(one.content.rows) for one in files.documents if isinstance(one.content, ScoreRows)]
    return _Found("done", said + (f": {counts[0]:,} scored rows" if counts else ""), name)


def _contamination(files: _Files) -> _Found:
    warned = [(name, result.warnings) for name, result in files.of(MetaResult)]
    for name, warnings in warned:
        for notice in warnings:
            if notice.name == "seen-rows":
                rows, of = notice.values.get("rows"), notice.values.get("of")
                return _Found("not done", f"{notice.about} was fitted to {rows} of {of} rows judged here", name)
    return _Found("unknown", "", "")


def _same_data(files: _Files) -> _Found | None:
    for name, result in files.of(CompareResult):
        return _Found("done", f"{len(result.systems)} systems scored on the same {result.segments:,} segments", name)
    return None


def _references(files: _Files) -> _Found | None:
    counts: dict[str, tuple[str, str]] = {}
    for metric, (signature, name) in files.signatures.items():
        if signature:
            counts[metric] = (Signature.read(signature).get("refs"), name)
    for metric, (refs, name) in counts.items():
        if refs not in ("", "0", "1"):
            return _Found("done", f"{refs} references under {metric}", name)
    free = {metric: name for metric, (refs, name) in counts.items() if not refs}
    if free:
        metric, name = next(iter(free.items()))
        return _Found("done", f"{metric} reads no reference", name)
    return _Found("not done", "1 reference", next(iter(counts.values()))[1]) if counts else None


def _several_metrics(files: _Files) -> _Found | None:
    kinds: dict[str, str | None] = {metric: _kind(metric, sig, files) for metric, (sig, _) in files.signatures.items()}
    if not kinds:
        return None
    name = next(iter(files.signatures.values()))[1]
    lexical = [metric for metric, kind in kinds.items() if kind == "lexical"]
    others = [metric for metric, kind in kinds.items() if kind not in (None, "lexical")]
    if others and len({kind for kind in kinds.values() if kind}) > 1:
        told = [f"{metric} ({kind})" for metric, kind in kinds.items() if kind]
        return _Found("done", ", ".join(told[:_NAMED]), name)
    if len(kinds) > len(lexical) + len(others):
        unknown = [metric for metric, kind in kinds.items() if kind is None]
        return _Found("unknown", f"what kind of metric {', '.join(unknown[:_NAMED])} is", name)
    return _Found("not done", f"{', '.join(kinds)}: of one kind, {next(iter(kinds.values()))}", name)


def _kind(metric: str, signature: str, files: _Files) -> str | None:
    """Return what a metric compares: strings, or something that a network makes of them; None if nobody knows."""
    try:
        own = Signature.read(signature).get("metric") or read_spec(metric)[0]
        entry = files.catalog.metric(own)
    except BsxError:
        return None
    if entry is None:
        return None
    kind = entry.implementation.partition(":")[0].removeprefix("bsx.").removeprefix("metrics.").partition(".")[0]
    return {"bertscore": "embedding"}.get(kind, kind)


def _signatures(files: _Files) -> _Found | None:
    if not files.signatures:
        return None
    signed = {metric: name for metric, (signature, name) in files.signatures.items() if signature}
    figure = f"{len(signed)} of {len(files.signatures)} metrics"
    first = next(iter(files.signatures.values()))[1]
    return _Found("done" if len(signed) == len(files.signatures) else "not done", figure, first)


def _significance(files: _Files) -> _Found | None:
    found = None
    for name, result in files.of(CompareResult):
        tests = [test for metric in result.metrics for test in metric.tests]
        most = max((len(metric.tests) for metric in result.metrics), default=0)
        if not most:
            continue
        correction = _CORRECTED.get(str(result.settings.get("correction")))
        test = str(result.settings.get("test", ""))
        drawn = "segments" if result.documents is None else "documents"
        different = sum(one.better is not None for one in tests)
        figure = f"{different} of {len(tests)} differences significant, {_TESTS.get(test, test)} of {drawn}, " + (
            "one test a metric" if most == 1 else correction or "not corrected"
        )
        status: Status = "done" if most == 1 or correction is not None else "not done"
        if found is None or status == "done":
            found = _Found(status, figure, name)
        if status == "done":
            break
    return found


def _size(files: _Files) -> _Found | None:
    for name, result in files.of(CompareResult):
        for metric in result.metrics:
            shares = [one.published for one in metric.tests if one.published is not None]
            if shares:
                share = _range([one.share for one in shares])
                return _Found("done", f"people agree in {share} % ({shares[0].curve}, {shares[0].source})", name)
            steps = [one.human for one in metric.tests if one.human is not None]
            if steps:
                share = _range([one.share for one in steps])
                return _Found("done", f"human judgments agree in {share} % ({metric.metric})", name)
        if result.settings.get("margin") is not None:
            same = [one.verdict for metric in result.metrics for one in metric.tests if one.verdict is not None]
            small = sum(verdict.endswith("equivalent") for verdict in same)
            figure = f"{small} of {len(same)} differences shown to be under {result.settings['margin']:g}"
            return _Found("done", figure, name)
    return None


def _range(shares: Sequence[float]) -> str:
    """Return the least and the greatest share in percent; under one half, a difference says nothing."""
    ends = ["under 50" if share < 0.5 else f"{100 * share:.0f}" for share in (min(shares), max(shares))]
    return " to ".join(dict.fromkeys(ends))


def _sentinels(files: _Files) -> _Found | None:
    for name, result in files.of(MetaResult):
        for group in result.groups:
            metrics = [one for one in group.metrics if not one.control and one.value == one.value]
            controls = [one for one in group.metrics if one.control and one.value == one.value]
            if metrics and controls:
                best, control = max(metrics, key=_value), max(controls, key=_value)
                figure = f"{best.metric} {best.value:.3f} compared with {control.metric} {control.value:.3f}"
                return _Found("done", f"{figure} ({result.headline}, n {group.n:,})", name)
    return None


def _value(agreement: MetricAgreement) -> float:
    return agreement.value


def _challenge(files: _Files) -> _Found | None:
    for name, result in files.of(ChallengeResult):
        for metric, one in result.metrics.items():
            if one.overall is not None:
                figure = f"{metric} scores the good translation higher in {100 * one.overall.rate:.1f} %"
                return _Found("done", f"{figure} of {one.overall.n:,} rows", name)
    for name, triples in files.of(TriplesResult):
        for row in triples.results:
            return _Found("done", f"{row.metric} prefers {100 * row.rate:.1f} % of {row.n:,} paraphrases", name)
    for name, pairs in files.of(PairsResult):
        for pair in pairs.results:
            return _Found("done", f"{pair.metric} has an AUC of {pair.auc:.3f} on {pair.n:,} pairs", name)
    for name, robust in files.of(Robustness):
        kinds = dict.fromkeys(one.perturbation for one in robust.results)
        if kinds:
            changed = sum(one.n for one in robust.results)
            return _Found("done", f"{len(kinds)} perturbations, {changed:,} changed texts", name)
    return None


def _language(files: _Files) -> _Found | None:
    other = None
    for name, result in files.of(MetaResult):
        for group in result.groups:
            metrics = [one for one in group.metrics if not one.control and one.value == one.value]
            if metrics:
                best = max(metrics, key=_value)
                ends = f"[{best.ci[0]:.3f}, {best.ci[1]:.3f}]"
                of = "" if group.group == "all" else f" of {group.group}"
                figure = f"{best.metric}: {result.headline} {best.value:.3f} {ends} on {group.n:,} judged rows{of}"
                if files.of_these(name):
                    return _Found("done", figure, name)
                other = other or _Found("unknown", f"{figure}, of other data: in which language is in no file", name)
    for name, evaluated in files.of(EvaluationResult):
        if evaluated.evidence is not None:
            return _Found("done", f"{evaluated.language}: {evaluated.evidence}", name)
    return other


def _judged(files: _Files) -> _Found | None:
    for name, result in files.of(MetaResult):
        counts = [group.n for group in result.groups]
        rows = max(counts) if result.average is None else sum(counts)  # kinds of errors are of the same rows
        figure = f"{rows:,} judged rows in the column {result.human}"
        if files.of_these(name):
            return _Found("done", figure, name)
        return _Found("not done", f"{figure}, of other data than the systems", name)
    return None


def _raters(files: _Files) -> _Found | None:
    for name, result in files.of(RaterAgreement):
        low, high = result.alpha_ci
        figure = f"Krippendorff's alpha {result.alpha:.3f} [{low:.3f}, {high:.3f}] of {len(result.raters)} raters"
        return _Found("done", f"{figure}, {result.items:,} items", name)
    return _Found("unknown", "who judged, and how, is in no file", "") if files.of(MetaResult) else None


@dataclass(frozen=True)
class _Asked:
    """One item: what it asks for, who asks for it, where to look, and what would do it."""

    name: str
    asks: str
    source: str
    look: Callable[[_Files], _Found | None]
    how: str


_ASKED = (
    _Asked(
        "test set",
        "which data, with digest and size",
        f"{_MARIE}: scores of different data cannot be compared",
        _test_set,
        "bsx evaluate {table} -o evaluation",
    ),
    _Asked(
        "contamination",
        "whether systems or metrics have seen these texts",
        f"{_KOCMI}, 5.2: no metric that systems were trained, filtered or decoded with",
        _contamination,
        "write when the test set was published, and what systems were trained on until when",
    ),
    _Asked(
        "same data",
        "all systems scored alike, none copied from elsewhere",
        f"{_MARIE}: copied scores",
        _same_data,
        "bsx compare {table}{columns} --metrics {metrics} --all-pairs -o compare.json",
    ),
    _Asked(
        "references",
        "several references, or a metric that reads none",
        f"{_KOCMI}, 3.2 and 5.2: references' quality; a metric without them",
        _references,
        "bsx evaluate {table} --reference REFERENCE1,REFERENCE2 -o evaluation",
    ),
    _Asked(
        "metrics",
        "several kinds of metrics, not strings alone",
        f"{_MARIE}: BLEU alone; {_KOCMI}, 5.2: one more of a different type",
        _several_metrics,
        "bsx evaluate {table} --metrics {metrics},bertscore -o evaluation",
    ),
    _Asked(
        "signatures",
        "settings and versions of every metric",
        f"{_POST}: a version string with every score",
        _signatures,
        "bsx compare {table}{columns} --metrics {metrics} -o compare.json",
    ),
    _Asked(
        "significance",
        "tests of differences, corrected for their number",
        f"{_MARIE}: significance tests",
        _significance,
        "bsx compare {table}{columns} --metrics {metrics} --all-pairs -o compare.json",
    ),
    _Asked(
        "size",
        "whether people would see the difference",
        f"{_KOCMI}, 5.2: accuracy with each difference",
        _size,
        "bsx compare {table}{columns} --metrics {metrics} --judged FILE -o compare.json; or --margin X",
    ),
    _Asked(
        "sentinels",
        "what a score that cannot know quality reaches",
        "Perrella et al. 2024",
        _sentinels,
        "bsx meta {table}{columns} --metrics {metrics} --human COLUMN --sentinels length,overlap -o meta.json",
    ),
    _Asked(
        "challenge sets",
        "errors and changes that a metric must notice",
        "Amrhein, Moghe & Guillou 2022 (ACES); Karpinska et al. 2022 (DEMETR)",
        _challenge,
        "bsx adversarial challenge CHALLENGE_SET --metrics {metrics} -o challenge.json",
    ),
    _Asked(
        "language",
        "agreement with human judgments, measured in this language",
        f"{_KOCMI}, 4.2: whether metrics evaluate all languages alike",
        _language,
        "bsx meta {table}{columns} --metrics {metrics} --human COLUMN -o meta.json",
    ),
    _Asked(
        "human judgments",
        "human judgments of these systems",
        f"{_MARIE}: conclusions from metrics alone; {_KOCMI}, Limitations",
        _judged,
        "bsx evaluate {table} --human COLUMN -o evaluation; bsx plan meta says how many are needed",
    ),
    _Asked(
        "human protocol",
        "who judged, on which scale, and how well they agree",
        "Freitag et al. 2021: experts rank systems otherwise than crowd workers",
        _raters,
        "bsx data raters RATINGS -o raters.json; write who judged, on which scale",
    ),
)
