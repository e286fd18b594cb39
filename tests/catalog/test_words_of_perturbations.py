"""Words and patterns of perturbations: what a file may hold, and what is said of one that is wrong."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from bsx.catalog.catalog import shipped
from bsx.catalog.entries import read_entry
from bsx.catalog.entries.perturbations import PerturbationWords
from bsx.catalog.words import words
from bsx.errors import RegistryError


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("oposites: a/b", "oposites: "),
        ("opposites: a/b c", "opposites: .*'c'"),
        ("opposites: 'a/b:e,,n'", "opposites: "),
        ("negation: {remove: [{find: '(a', put: ''}]}", r"negation\.remove\.0\.find: .*'\(a'"),
        ("spelling: [[{find: '(a)b', put: '\\2'}]]", r"spelling\.0\.0: .*no group 2"),
        ("negation: {insert: [{find: '<verbs>', put: ''}]}", "<verbs>: parts has no 'verbs'"),
        ("set_phrases: [a, '(b']", "set_phrases: "),
        ("set_phrases: [a, no]", "set_phrases: "),
        ("parts: {verbs: [is, no]}", r"parts\.verbs"),
        ("parts: [a]", "parts: "),
        ("numbers: {groups: [[1, 2]]}", r"numbers\.groups\.0\.0: "),
        ("small_nouns: 3", "small_nouns: "),
        ("inflections: {verbs: go}", r"inflections\.verbs: .*'go'"),
        ("- a", "entry: "),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, field: str) -> None:
    file = tmp_path / "perturbations" / "xx.yaml"
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    with pytest.raises(RegistryError, match=field) as refused:
        read_entry(PerturbationWords, file)
    assert str(file) in str(refused.value)
    registry = copy.copy(shipped())
    registry.folders, registry.origins, registry.models, registry.metrics = (tmp_path,), {}, {}, {}
    assert [str(problem) for problem in registry.check()] == [str(refused.value)]


def test_patterns_name_parts(tmp_path: Path) -> None:
    file = tmp_path / "xx.yaml"
    file.write_text("parts: {v: [is, was]}\nnegation: {insert: [{find: '(<v>)', put: '\\1 not'}]}\n", encoding="utf-8")
    assert read_entry(PerturbationWords, file).negation.insert[0].find.pattern == "(is|was)"
    assert repr(words("xx")) == repr(PerturbationWords())
