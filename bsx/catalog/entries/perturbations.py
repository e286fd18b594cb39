"""Entries of the words and patterns that perturbations change a language's texts by."""

from __future__ import annotations

from typing import Annotated, Any

import regex
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from bsx.catalog.entries import Entry

_PAIR = regex.compile(r"[^\s/>:]+[/>][^\s/>:]+(?::(?:-|[^\s,:]+)(?:,[^\s,:]+)*)?")
_FORMS = regex.compile(r"[^\s/]+(?:/[^\s/]+){1,2}")


def _compiled(pattern: object) -> Any:
    if not isinstance(pattern, str):
        raise ValueError("must be a regular expression")  # noqa: TRY004 - what pydantic collects
    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error


def _alternatives(listed: object) -> object:
    return "|".join(listed) if isinstance(listed, list) and all(isinstance(each, str) for each in listed) else listed


def _table(kind: regex.Pattern[str]) -> AfterValidator:
    def check(text: str) -> str:
        wrong = next((each for each in text.split() if not kind.fullmatch(each)), None)
        if wrong is not None:
            raise ValueError(f"{wrong!r} is not written as the others are")
        return text

    return AfterValidator(check)


Pattern = Annotated[
    Any, BeforeValidator(_compiled), WithJsonSchema({"type": "string", "format": "regex"}), Field(validate_default=True)
]
Part = Annotated[str, AfterValidator(lambda pattern: str(_compiled(pattern).pattern))]
"""Of a pattern that code puts together."""
Alternatives = Annotated[Part, BeforeValidator(_alternatives, json_schema_input_type=list[str])]
Pairs = Annotated[str, _table(_PAIR)]
Forms = Annotated[str, _table(_FORMS)]


class Rule(Entry):
    r"""What is found, and what is put in its place, with ``\1`` for the first group."""

    find: Pattern
    put: str

    @model_validator(mode="after")
    def _groups_exist(self) -> Rule:
        for number in regex.findall(r"\\(\d)", self.put):
            if int(number) > self.find.groups:
                raise ValueError(f"put: {self.find.pattern!r} has no group {number}")
        return self


Groups = list[list[Rule]]
"""Groups of rules: the first group that changes a text counts."""


class NegationRules(Entry):
    """How a negation is taken out, or else put in: by the first rule that fits, once.

    Nothing is taken out where ``remove_unless`` fits anywhere in the text, or put in where ``insert_unless`` does. What
    is put in the place of a capital has one.
    """

    remove: list[Rule] = []
    remove_unless: Pattern = "(?!)"
    insert: list[Rule] = []
    insert_unless: Pattern = "(?!)"


class NumberWords(Entry):
    """Number words in groups that can stand for one another, and what must be around them."""

    groups: list[list[str]] = []
    before: Part = r"\b"
    after: Part = r"\b"


class CalendarWords(Entry):
    """Months in their order and weekdays; ``spelled`` has patterns of those that may be something else."""

    months: list[str] = []
    weekdays: list[str] = []
    spelled: dict[str, Part] = {}


class TenseWords(Entry):
    """Words beside which a tense stays, and a pattern of verbs whose tense always does."""

    unless: Alternatives = "(?!)"
    never: Pattern = "(?!)"


class IrregularForms(Entry):
    """Irregular forms: ``base/past/participle``, ``singular/plural``; nouns without a plural; verbs that double."""

    verbs: Forms = ""
    plurals: Forms = ""
    no_plural: list[str] = []
    doubled: list[str] = []


class PerturbationWords(Entry):
    """The words and patterns of one language, a field a perturbation.

    Patterns name ``parts`` as ``<name>``, a list of which stands for its alternatives. Of ``opposites``, ``modality``
    and ``synonyms``, ``a/b`` stands both ways, ``a>b`` one way; endings after a colon belong to both, ``-`` is none, an
    underscore is a space. In ``set_phrases`` these words mean something else and stay.
    """

    parts: dict[str, str | list[str]] = {}
    negation: NegationRules = Field(default_factory=NegationRules)
    opposites: Pairs = ""
    modality: Pairs = ""
    synonyms: Pairs = ""
    set_phrases: Alternatives = "(?!)"
    numbers: NumberWords = NumberWords()
    dates: CalendarWords = CalendarWords()
    spelling: Groups = []
    marks: Groups = []
    contractions: Groups = []
    function_words: Groups = []
    small_nouns: Pattern = "(?!)"
    homophones: list[str] = []
    tense: TenseWords = Field(default_factory=TenseWords)
    inflections: IrregularForms = IrregularForms()

    @model_validator(mode="before")
    @classmethod
    def _put_parts_in(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("parts", {}), dict):
            return value
        parts = {name: str(_alternatives(part)) for name, part in value.get("parts", {}).items()}

        def filled(inside: Any) -> Any:
            if isinstance(inside, dict):
                return {key: filled(each) for key, each in inside.items()}
            if isinstance(inside, list):
                return [filled(each) for each in inside]
            return regex.sub(r"<([a-z_]+)>", part, inside) if isinstance(inside, str) else inside

        def part(match: regex.Match[str]) -> str:
            if match[1] not in parts:
                raise ValueError(f"{match[0]}: parts has no {match[1]!r}")
            return parts[match[1]]

        return {key: each if key == "parts" else filled(each) for key, each in value.items()}
