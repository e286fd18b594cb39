"""Scores by a language model that is asked for its judgment, at an endpoint that speaks as OpenAI's does."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from bsx.data.corpus import BREAK
from bsx.data.run import check_place
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.base import Metric
from bsx.metrics.core import Block, BlockScores, Reading
from bsx.metrics.judging.answers import Verdict, read_answer
from bsx.metrics.judging.cache import AnswerCache, KeptAnswer
from bsx.metrics.judging.endpoint import Endpoint, JudgeConfig, Question, checked_address, size_of
from bsx.support.folders import cache_folder
from bsx.support.progress import Progress, Say

_SHOWN = 60  # characters of an answer in a message

Heard = list[tuple[str, KeptAnswer, Verdict]]
"""What the judge said of a corpus: the segment, for messages, the answer to a question, and what that says."""


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
        """Check prompt, languages, model and address, and that the package openai is installed; nothing is asked."""
        config = self.config
        self.prompt = self.encoders.catalog.judge(config.prompt)
        content = self.prompt.model_dump(include={"messages", "answer"})
        self.digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
        self.encoders.uses_entry("judge", config.prompt)
        if ("reference" in self.entry.needs) != ("reference" in self.prompt.needs):
            has, other = ("no references", "judge-qe") if "reference" in self.entry.needs else ("references", "judge")
            raise InputError(f"{self.name}: the prompt {self.prompt.name} reads {has}: use {other} with it")
        if config.model is None:
            raise InputError(
                f"{self.name}: model names the model to ask for, as the endpoint calls it", setting="model"
            )
        known = {"source_lang": self.encoders.source, "target_lang": self.encoders.language}
        wanted = {name: language for name, language in known.items() if name in self.prompt.placeholders}
        if None in wanted.values():
            raise InputError(
                f"{self.name}: the prompt {self.prompt.name} names the languages: give lang, such as "
                f"{'en-de' if 'source_lang' in wanted else 'de'}",
                setting="lang",
            )
        self._languages = {name: language.name for name, language in wanted.items() if language is not None}
        self._max_tokens = config.max_tokens or self.prompt.max_tokens
        if config.base_url is not None:
            checked_address(config.base_url)
        file = cache_folder() / "judges" / f"{self.prompt.name}-{self.digest}.jsonl"
        if config.cache is not None:
            file = config.cache.expanduser()
            check_place(file)
        self._cache = AnswerCache(file)
        self._endpoint = None if config.budget_requests == 0 else Endpoint(config, self.prompt, self.digest)
        self._heard: Heard = []

    @classmethod
    def lacks(cls) -> str | None:
        """Say that it needs somebody to ask."""
        return "an endpoint (base_url, model)"

    @property
    def notes(self) -> tuple[str, ...]:
        """Say by which model answers are, how many could not be read, and how scores came about."""
        heard, asked, notes = self._heard, str(self.config.model), []
        names = Counter(answer.model for _, answer, _ in heard if answer.model)
        # A dated version is the model that was asked for.
        if len(names) > 1 or not all(re.fullmatch(re.escape(asked) + r"([-@][\d-]+)?", name) for name in names):
            counts = ", ".join(f"{name!r} ({count:,})" for name, count in names.most_common())
            notes.append(f"{self.name}: {asked!r} is asked for, and the answers are by {counts}")
        unread = [(where, answer.content, verdict.problem) for where, answer, verdict in heard if verdict.problem]
        if unread:
            where, content, problem = unread[0]
            shown = " ".join(content.split())
            shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
            notes.append(
                f"{self.name}: {len(unread):,} of {len(heard):,} answers cannot be read, segment {where}: "
                f"{problem}: {shown!r}"
            )
        plain, weighted = _read_how(heard)
        if plain and weighted:
            notes.append(
                f"{self.name}: {plain:,} of {len(heard):,} answers came without probabilities: they count plainly, "
                "the others weighted by these"
            )
        return tuple(notes)

    def signature_fields(self, fitted: Heard | None) -> dict[str, object]:
        """Return the prompt with its digest, endpoint, model as that names it, and the days of the answers."""
        fields: dict[str, object] = {"prompt": f"{self.prompt.name}@{self.digest}", "max_tokens": self._max_tokens}
        if self._languages:
            languages = (self.encoders.source, self.encoders.language)
            fields["lang"] = "-".join(language.code for language in languages if language is not None)
        if fitted is not None:
            answers = [answer for _, answer, _ in fitted]
            fields["model"] = ", ".join(sorted({a.model for a in answers if a.model})) or self.config.model
            fields["endpoint"] = ", ".join(sorted({a.endpoint or "unknown" for a in answers})) or "none"
            days = sorted(a.at[:10] for a in answers) or ["none"]
            fields["answered"] = "..".join(dict.fromkeys([days[0], days[-1]]))
            plain, weighted = _read_how(fitted)
            if weighted:
                fields["weighted"] = f"{weighted} of {weighted + plain}" if plain else "yes"
            elif getattr(self.prompt.answer, "weighted", False):
                fields["weighted"] = "no"
        return fields

    @property
    def counts(self) -> str:
        """Answers."""
        return "answers"

    def fit(self, corpus: Reading) -> Heard:
        """Ask about all rows of a corpus that no kept answer is about.

        Raises:
            ModelUnavailableError: if the endpoint or the budget ends the run; what was answered is kept.
        """
        questions = [
            question
            for segment in corpus
            for candidate in segment.candidates
            for several in self._questions(segment.id, candidate, segment.references, segment.source)
            for question in several
        ]
        self._answer(questions, corpus.progress, corpus.say)
        self._heard = [(question.where, *self._read(question)) for question in questions]
        return self._heard

    def _questions(
        self, where: str, candidate: str, references: Iterable[str], source: str | None
    ) -> Iterator[list[Question]]:
        """Yield the questions about a candidate: with each reference that is not blank, or none, as many as answers."""
        if BREAK in candidate:
            raise InputError(f"{self.name} judges each segment by itself: leave out context")
        source = (source or "") if "source" in self.needs else ""
        if not candidate.strip() or ("source" in self.needs and not source.strip()):
            return
        config = self.config
        for reference in references if "reference" in self.needs else [None]:
            if reference is not None and not reference.strip():
                continue
            known: dict[str, str] = {"candidate": candidate, "reference": reference or "", "source": source}
            texts = {name: known[name] for name in self.prompt.needs} | self._languages
            questions = []
            for number in range(config.answers):
                settings = [config.model, config.temperature, config.seed, self._max_tokens, number]
                content = json.dumps([self.digest, settings, texts], sort_keys=True, ensure_ascii=True)
                questions.append(Question(hashlib.sha256(content.encode()).hexdigest(), texts, number, where))
            yield questions

    def _read(self, question: Question) -> tuple[KeptAnswer, Verdict]:
        answer = self._cache.answers[question.key]
        return answer, read_answer(self.prompt.answer, answer.content, answer.finish, answer.scores)

    def _answer(self, questions: list[Question], progress: Progress | None = None, say: Say | None = None) -> None:
        """See to it that every question has an answer."""
        config, file, answers = self.config, self._cache.path, self._cache.answers
        wanted = list({question.key: question for question in questions if question.key not in answers}.values())
        if not wanted:
            return
        kept = len({question.key for question in questions}) - len(wanted)
        tokens = sum(size_of(self.prompt.filled(question.texts)) for question in wanted)
        takes = (
            f"{len(wanted):,} questions to {config.model}: about {tokens:,} tokens in, at most "
            f"{self._max_tokens * len(wanted):,} out"
        )
        if self._endpoint is None:
            others = sorted({f"{a.name}@{a.prompt} by {a.asked}" for a in answers.values()})
            raise ModelUnavailableError(
                f"{self.name}: budget_requests=0 asks nothing, and {file} lacks {takes} (first: segment "
                f"{wanted[0].where}); {kept:,} answers are kept for {self.prompt.name}@{self.digest} with these texts, "
                f"temperature, seed, max_tokens and number of answers; it has {', '.join(others) or 'nothing'}"
            )
        if say is not None:
            say(f"{self.name}: {takes}, at {self._endpoint.host}; {kept:,} answers are kept in {file}")
        self._endpoint.ask_all(wanted, self._cache, kept, progress)

    def score_block(self, block: Block, fitted: Heard | None) -> BlockScores:
        """Score rows by the answers that are kept; see `Metric.score_block`."""
        sources: Iterable[str | None] = block.sources if block.sources is not None else [None] * len(block)
        ids = block.ids or [str(row + 1) for row in range(len(block))]
        parts = zip(ids, block.candidates, block.references, sources, strict=True)
        rows = [list(self._questions(*part)) for part in parts]
        self._answer([question for row in rows for several in row for question in several])
        values = np.full(len(block), np.nan)
        for place, (row, candidate) in enumerate(zip(rows, block.candidates, strict=True)):
            each = []  # against each reference, the mean of the answers that can be read
            for several in row:
                scores = [self._read(question)[1].score for question in several]
                readable = [score for score in scores if score == score]
                each.append(sum(readable) / len(readable) if readable else np.nan)
            if each:
                values[place] = np.mean(each) if self.config.multi_ref == "mean" else np.max(each)
            elif not candidate.strip():
                values[place] = self.prompt.answer.worst
        empty = np.array([not row for row in rows], dtype=bool)
        return BlockScores(values, empty, np.zeros(len(block), dtype=np.int64))


def _read_how(heard: Heard) -> tuple[int, int]:
    """Return how many scores are plain, and how many weighted by probabilities."""
    weighted = sum(verdict.weighted for _, _, verdict in heard)
    return sum(verdict.problem is None for _, _, verdict in heard) - weighted, weighted
