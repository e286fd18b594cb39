"""Scores by a language model that is asked for its judgment, at an endpoint that speaks as OpenAI's does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.judges import SpanAnswer
from bsx.catalog.entries.metrics import MetricEntry
from bsx.data.corpus import BREAK, Corpus
from bsx.data.run import check_output, check_place, reading
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores
from bsx.metrics.core import MetricConfig, MultiRef
from bsx.metrics.judging.answers import Verdict, read_answer
from bsx.metrics.judging.asking import Limits, Served, ask_all, check_budget, estimated, size_of
from bsx.metrics.judging.cache import AnswerCache, KeptAnswer, key_of
from bsx.metrics.judging.endpoint import Endpoint, Question, checked_address
from bsx.metrics.judging.prompts import digest_of, find_prompt
from bsx.metrics.judging.spans import JudgedOutput, write_spans
from bsx.support.folders import cache_folder
from bsx.support.progress import Progress, Say
from bsx.support.settings import Unscored, UserOnly

_SHOWN = 60  # characters of an answer in a message


class JudgeConfig(MetricConfig):
    """Settings of a judge."""

    positional: ClassVar[str | None] = "prompt"

    prompt: Annotated[str, Field(description="A prompt of the registry, or a .yaml file of your own.")] = "gemba-da"
    model: Annotated[str | None, Field(description="The model to ask for, as the endpoint calls it.")] = None
    temperature: Annotated[float, Field(ge=0, le=2, description="Temperature of the answers.")] = 0.0
    seed: Annotated[
        int | None,
        Field(description="Seed that is sent, for the second of several answers one more; none unless given."),
    ] = None
    max_tokens: Annotated[
        int | None, Field(ge=1, description="Tokens of an answer at most; as the prompt says unless given.")
    ] = None
    answers: Annotated[
        int, Field(ge=1, le=100, description="How many answers to ask for; the score is their mean.")
    ] = 1
    multi_ref: MultiRef = "best"
    base_url: Annotated[
        str | None,
        Field(description="Address of the endpoint, up to /v1; OPENAI_BASE_URL, or else OpenAI's own."),
        UserOnly(),
        Unscored(),
    ] = None
    key: Annotated[
        str, Field(description="Environment variable that holds the key; an endpoint of your own may want none."),
        UserOnly(), Unscored(),
    ] = "OPENAI_API_KEY"  # fmt: skip
    served: Annotated[
        str | None,
        Field(description="By which name the endpoint may answer, if it is not that of model or of a dated version."),
        Unscored(),
    ] = None
    cache: Annotated[
        Path | None,
        Field(
            description="File that keeps the answers, JSON lines; in bsx's cache folder, one a prompt, unless given."
        ),
        UserOnly(),
        Unscored(),
    ] = None
    replay: Annotated[
        Literal["auto", "only"],
        Field(description="auto: ask for answers that are not kept; only: ask nothing, without the network."),
        Unscored(),
    ] = "auto"
    spans: Annotated[
        Path | None,
        Field(description="Write the errors that the judge names to this table; for prompts that ask for errors."),
        UserOnly(),
        Unscored(),
    ] = None
    concurrency: Annotated[int, Field(ge=1, le=256, description="Questions at once."), Unscored()] = 4
    per_minute: Annotated[float | None, Field(gt=0, le=1e6, description="Questions a minute at most."), Unscored()] = (
        None
    )
    retries: Annotated[
        int, Field(ge=0, le=100, description="How often to ask again after 429, 5xx, a timeout or a lost connection."),
        Unscored(),
    ] = 5  # fmt: skip
    timeout: Annotated[float, Field(gt=0, le=86400, description="Seconds for an answer."), Unscored()] = 120.0
    budget_requests: Annotated[
        int | None, Field(ge=0, le=10**12, description="New questions at most; 0 only says what they would take."),
        Unscored(),
    ] = None  # fmt: skip
    budget_tokens: Annotated[
        int | None, Field(ge=0, le=10**15, description="Tokens of new questions and answers at most."), Unscored()
    ] = None
    budget_cost: Annotated[
        float | None, Field(ge=0, le=1e12, description="Cost of new answers at most, by the prices given."), Unscored()
    ] = None
    price_in: Annotated[
        float | None, Field(ge=0, le=1e9, description="Price of a million tokens of questions."), Unscored()
    ] = None
    price_out: Annotated[
        float | None, Field(ge=0, le=1e9, description="Price of a million tokens of answers."), Unscored()
    ] = None
    length_field: Annotated[
        Literal["max_tokens", "max_completion_tokens"],
        Field(description="What the endpoint calls max_tokens; OpenAI's newest models want max_completion_tokens."),
        Unscored(),
    ] = "max_tokens"

    def reads(self, entry: MetricEntry, catalog: Catalog) -> frozenset[str]:
        """Return what the prompt reads."""
        return frozenset(find_prompt(self.prompt, catalog).needs)


@dataclass
class _Row:
    """A candidate with what it is judged beside.

    Attributes:
        where: the segment.
        candidate: its text.
        reference: one reference, "" for a prompt without any.
        source: "" for a prompt without one.
        system: the candidate's.
    """

    where: str
    candidate: str
    reference: str
    source: str
    system: str = ""


@dataclass
class Heard:
    """What the judge said of a corpus.

    Attributes:
        models: by which names it answered -> answers.
        endpoints: the hosts that answered.
        days: of the first and the last answer; None without any.
        weighted: how many scores are weighted by probabilities.
        plain: how many are not.
        unread: how many answers cannot be read.
        first: the first of these, in words.
    """

    models: Counter[str] = field(default_factory=Counter)
    endpoints: set[str] = field(default_factory=set)
    days: tuple[str, str] | None = None
    weighted: int = 0
    plain: int = 0
    unread: int = 0
    first: str | None = None

    def add(self, answer: KeptAnswer, verdict: Verdict, where: str) -> None:
        """Count an answer in."""
        if answer.model:
            self.models[answer.model] += 1
        self.endpoints.add(answer.endpoint or "unknown")
        day = answer.at[:10]
        first, last = self.days or (day, day)
        self.days = (min(first, day), max(last, day))
        if verdict.problem is not None:
            self.unread += 1
            shown = " ".join(answer.content.split())
            shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
            self.first = self.first or f"segment {where}: {verdict.problem}: {shown!r}"
        elif verdict.weighted:
            self.weighted += 1
        else:
            self.plain += 1


class Judge(Metric[JudgeConfig]):
    """A language model's judgment of a candidate, by a prompt.

    All questions are asked while the corpus is read, so that the signature can name the model that answered; a row of
    a block that was not asked about then is asked about when it is scored. A candidate without content has the worst
    score of the scale; a row without the source or the reference that the prompt reads has none, nor has one whose
    answer cannot be read. Sources: Kocmi & Federmann 2023; Liu et al. 2023.
    """

    Config = JudgeConfig
    shares_model = False
    keeps_missing = True

    def setup(self) -> None:
        """Check prompt, languages, model, budget and address; nothing is asked.

        Raises:
            InputError: naming the setting that is wrong or missing.
            MissingExtraError: if the package openai is not installed, unless nothing will be asked.
        """
        config = self.config
        self.prompt = find_prompt(config.prompt, self.encoders.catalog)
        self.digest = digest_of(self.prompt)
        if self.encoders.catalog.origins.get(("judge", config.prompt)) is not None:
            self.encoders.uses_entry("judge", config.prompt)
        if ("reference" in self.entry.needs) != ("reference" in self.prompt.needs):
            has, other = ("no references", "judge-qe") if "reference" in self.entry.needs else ("references", "judge")
            raise InputError(f"{self.name}: the prompt {self.prompt.name} reads {has}: use {other} with it")
        if config.model is None:
            raise InputError(
                f"{self.name}: model names the model to ask for, as the endpoint calls it", setting="model"
            )
        self._languages = self._names_of_languages()
        self._limits = Limits(
            concurrency=config.concurrency,
            per_minute=config.per_minute,
            requests=config.budget_requests,
            tokens=config.budget_tokens,
            cost=config.budget_cost,
            price_in=config.price_in,
            price_out=config.price_out,
        )
        check_budget(self._limits)
        if config.base_url is not None:
            checked_address(config.base_url)
        if config.spans is not None:
            if not isinstance(self.prompt.answer, SpanAnswer):
                raise InputError(f"{self.name}: the prompt {self.prompt.name} asks for no errors: leave out spans")
            check_output(config.spans)
        self._cache = AnswerCache(self._cache_file())
        self._endpoint = None if config.replay == "only" else self._open()
        self._heard = Heard()

    def _cache_file(self) -> Path:
        if self.config.cache is not None:
            file = self.config.cache.expanduser()
            check_place(file)
            reading(file)  # so that no output of the run takes its place
            return file
        return cache_folder() / "judges" / f"{self.prompt.name}-{self.digest}.jsonl"

    def _names_of_languages(self) -> dict[str, str]:
        """Return the languages' English names, for prompts that name them."""
        wanted = self.prompt.placeholders & {"source_lang", "target_lang"}
        known = {"source_lang": self.encoders.source, "target_lang": self.encoders.language}
        if any(known[name] is None for name in wanted):
            raise InputError(
                f"{self.name}: the prompt {self.prompt.name} names the languages: give lang, such as "
                f"{'en-de' if 'source_lang' in wanted else 'de'}",
                setting="lang",
            )
        return {name: language.name for name, language in known.items() if name in wanted and language is not None}

    def _open(self) -> Endpoint:
        config = self.config
        return Endpoint(
            base_url=config.base_url,
            key=config.key,
            model=str(config.model),
            prompt=self.prompt,
            digest=self.digest,
            temperature=config.temperature,
            seed=config.seed,
            max_tokens=self._max_tokens,
            timeout=config.timeout,
            retries=config.retries,
            length_field=config.length_field,
        )

    @classmethod
    def lacks(cls) -> str | None:
        """Say that it needs somebody to ask."""
        return "an endpoint (base_url, model)"

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how many answers could not be read, and how scores came about."""
        heard, said = self._heard, []
        total = heard.unread + heard.weighted + heard.plain
        if heard.unread:
            said.append(f"{self.name}: {heard.unread:,} of {total:,} answers cannot be read, {heard.first}")
        if heard.weighted and heard.plain:
            said.append(
                f"{self.name}: {heard.plain:,} of {total:,} answers came without probabilities: they count plainly, "
                "the others weighted by these"
            )
        return tuple(said)

    @cached_property
    def _max_tokens(self) -> int:
        return self.config.max_tokens or self.prompt.max_tokens

    def signature_fields(self, fitted: Heard | None) -> dict[str, object]:
        """Return the prompt with its digest, endpoint, model as that names it, and the days of the answers."""
        fields: dict[str, object] = {"prompt": f"{self.prompt.name}@{self.digest}", "max_tokens": self._max_tokens}
        if self._languages:
            codes = [one.code for one in (self.encoders.source, self.encoders.language) if one is not None]
            fields["lang"] = "-".join(codes)
        if fitted is not None:
            fields["model"] = ", ".join(sorted(fitted.models)) or self.config.model
            fields["endpoint"] = ", ".join(sorted(fitted.endpoints)) or "none"
            fields["answered"] = "none" if fitted.days is None else "..".join(dict.fromkeys(fitted.days))
            if fitted.weighted or getattr(self.prompt.answer, "weighted", False):
                all_or_some = "yes" if not fitted.plain else f"{fitted.weighted} of {fitted.weighted + fitted.plain}"
                fields["weighted"] = all_or_some if fitted.weighted else "no"
        return fields

    def fit(self, corpus: Corpus) -> Heard:
        """Ask about all rows of a corpus; see `learn`."""
        return self.learn(corpus)

    def learn(self, corpus: Corpus, progress: Progress | None = None, say: Say | None = None) -> Heard:
        """Ask about all rows of a corpus that no kept answer is about.

        Raises:
            ModelUnavailableError: if the endpoint or the budget ends the run, or an answer is not kept with
                ``replay=only``; what was answered is kept.
        """
        rows = list(self._rows(corpus))
        self._answered(rows, progress, say)
        self._heard = heard = Heard()
        for key, where, _ in self._questions(rows):
            answer = self._known(key)
            heard.add(answer, self._verdict(answer), where)
        if self.config.spans is not None:
            self._write_spans(self.config.spans, rows, say)
        return heard

    def _rows(self, corpus: Corpus) -> Iterator[_Row]:
        for segment in corpus:
            for k, candidate in enumerate(segment.candidates):
                system = segment.system or corpus.systems[k]
                yield from self._judged(segment.id, candidate, segment.references, segment.source, system)

    def _judged(
        self, where: str, candidate: str, references: Iterable[str], source: str | None, system: str = ""
    ) -> Iterator[_Row]:
        """Yield what is judged of a candidate: with each reference that is not blank, or nothing."""
        if BREAK in candidate:
            raise InputError(f"{self.name} judges each segment by itself: leave out context")
        source = (source or "") if "source" in self.needs else ""
        if not candidate.strip() or ("source" in self.needs and not source.strip()):
            return
        if "reference" not in self.needs:
            yield _Row(where, candidate, "", source, system)
            return
        for reference in references:
            if reference.strip():
                yield _Row(where, candidate, reference, source, system)

    def _texts(self, row: _Row) -> dict[str, str]:
        texts = {"candidate": row.candidate, "reference": row.reference, "source": row.source}
        return {**{name: texts[name] for name in self.prompt.needs}, **self._languages}

    def _key(self, row: _Row, number: int) -> str:
        config = self.config
        told = [config.model, config.temperature, config.seed, self._max_tokens, number]
        return key_of([self.digest, told, self._texts(row)])

    def _questions(self, rows: Iterable[_Row]) -> Iterator[tuple[str, str, Question]]:
        """Yield each question of rows: key, segment, and what to ask."""
        for row in rows:
            for number in range(self.config.answers):
                key = self._key(row, number)
                yield key, row.where, Question(key, self._texts(row), number, row.where)

    def _known(self, key: str) -> KeptAnswer:
        answer = self._cache.find(key, self.config.served)
        assert answer is not None  # noqa: S101 - _answered() saw to it
        return answer

    def _verdict(self, answer: KeptAnswer) -> Verdict:
        return read_answer(self.prompt.answer, answer.content, answer.finish, answer.scores)

    def _answered(self, rows: list[_Row], progress: Progress | None = None, say: Say | None = None) -> None:
        """See to it that every question about rows has an answer."""
        config, served = self.config, Served(str(self.config.model), self.config.served)
        wanted: dict[str, Question] = {}
        kept: set[str] = set()
        for key, _, asked in self._questions(rows):
            if key in kept or key in wanted:
                continue
            answer = self._cache.find(key, config.served)
            if answer is None:
                wanted[key] = asked
            else:
                kept.add(key)
                served.check(answer)
        if not wanted:
            return
        if self._endpoint is None:
            raise ModelUnavailableError(
                self._not_kept(len(wanted), len(wanted) + len(kept), next(iter(wanted.values())))
            )
        sizes = [size_of(self.prompt.filled(dict(asked.texts))) for asked in wanted.values()]
        estimate = estimated(sizes, self._max_tokens, self._limits)
        if say is not None:
            there = f", {len(kept):,} answers are kept in {self._cache.path}" if kept else ""
            say(f"{self.name}: {len(wanted):,} questions to {config.model} at {self._endpoint.host}{there}: {estimate}")
        ask_all(
            list(wanted.values()),
            sizes,
            self._max_tokens,
            self._endpoint,
            self._cache,
            served,
            self._limits,
            before=len(kept),
            progress=progress,
            say=say,
        )

    def _not_kept(self, missing: int, total: int, first: Question) -> str:
        file, name = self._cache.path, self.prompt.name
        said = (
            f"{self.name}: {file} holds no answer to {missing:,} of {total:,} questions (first: segment {first.where})"
        )
        if not file.exists():
            return f"{self.name}: replay=only, but there is no file {file}"
        others = self._cache.prompts()
        if not any(digest == self.digest for _, digest, _ in others):
            named = ", ".join(sorted({f"{other}@{digest}" for other, digest, _ in others})) or "nothing"
            return f"{said}: its answers are to {named}, and {name}@{self.digest} is asked for"
        models = sorted({asked for _, digest, asked in others if digest == self.digest})
        if self.config.model not in models:
            return f"{said}: its answers are of {', '.join(models)}, and {self.config.model} is asked for"
        return f"{said}: other texts, or another temperature, seed, max_tokens or number of answers; replay=auto asks"

    def _write_spans(self, file: Path, rows: list[_Row], say: Say | None) -> None:
        judged, missing = [], 0
        for row in rows:
            verdict = self._verdict(self._known(self._key(row, 0)))
            if verdict.problem is not None:
                missing += 1
                continue
            judged.append(JudgedOutput(row.system, row.where, row.candidate, row.source, verdict.errors))
        unplaced = write_spans(file, judged)
        if say is not None:
            errors = sum(len(one.errors) for one in judged)
            left = f"; {missing:,} outputs without an answer that can be read are not in it" if missing else ""
            say(f"{file}: {errors:,} errors in {len(judged):,} outputs, {unplaced:,} without a place{left}")

    def score_block(self, block: Block, fitted: Heard | None) -> BlockScores:
        """Score rows by the answers that are kept; see `Metric.score_block`."""
        values = np.full(len(block), np.nan)
        empty = np.zeros(len(block), dtype=bool)
        sources: Iterable[str | None] = block.sources if block.sources is not None else [None] * len(block)
        rows: list[_Row] = []
        starts: list[tuple[int, int, int]] = []
        ids = block.ids or [str(row + 1) for row in range(len(block))]
        parts = zip(ids, block.candidates, block.references, sources, strict=True)
        for place, (where, candidate, references, source) in enumerate(parts):
            own = list(self._judged(where, candidate, references, source))
            if own:
                starts.append((place, len(rows), len(rows) + len(own)))
                rows += own
                continue
            empty[place] = True
            if not candidate.strip():
                values[place] = self.prompt.answer.worst
        self._answered(rows)
        each = np.array([self._score(row) for row in rows])
        for place, start, end in starts:
            values[place] = self._reduced(each[start:end])
        return BlockScores(values, empty, np.zeros(len(block), dtype=np.int64))

    def _score(self, row: _Row) -> float:
        """Return the mean of the answers about a row that can be read; NaN if none can."""
        scores = [self._verdict(self._known(self._key(row, i))).score for i in range(self.config.answers)]
        readable = [score for score in scores if score == score]
        return sum(readable) / len(readable) if readable else float("nan")

    def _reduced(self, values: NDArray[np.float64]) -> float:
        """Return one score of those against several references; NaN if one of them is missing."""
        if np.isnan(values).any():
            return float("nan")
        return float(values.mean() if self.config.multi_ref == "mean" else values.max())
