"""What the library says, in the spelling of the command line.

Messages of the library name a setting as Python does, between backticks: `` `layer=` ``, `` `long='window'` ``,
`` `rescale=True` ``, or a call such as `` `bsx.jobs.train(…, resume=True)` ``. Here these become options and commands.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Sequence

from bsx.errors import shortened

# Settings that commands spell in their own way; the last spelling of a list is the one that messages use.
SHORT = {
    "model": ["-m", "--model"],
    "lang": ["-l", "--lang"],
    "columns": ["--columns"],
    "categories": ["--categories"],
    "sentinels": ["--sentinels"],
    "metrics": ["--metrics"],
    "factor_columns": ["--factor-columns"],
    "id": ["--segment", "--id"],
    "segment": ["--id", "--segment"],
    "sentence1": ["--reference", "--sentence1"],
    "sentence2": ["--candidate", "--sentence2"],
    "parser_dir": ["--stanza-dir", "--parser-dir"],
}

_RARE = {"dtype", "backend", "memory", "batch_tokens", "cache_size", "trust_remote_code", "strict"}
_COMMANDS = {  # called otherwise than the function
    "baseline": "registry baseline",
    "get_dataset": "data get",
    "metric_card": "card",
    "test_sets": "data test-sets",
    "fit_alignment": "metrics fit-alignment",
    "Scorer": "models pull",  # either fetches the model
}
_LISTS = {"languages": "models --languages", "models": "models", "metrics": "metrics"}  # of the registry
_OF_SCORE = {"output=FILE": "-o"}
_CODE = re.compile(r"\\?`([^`]+?)\\?`")  # Markdown escapes the marks of what is no code to it
_LIST = re.compile(r"bsx\.load_registry\(\)\.(\w+)")
_CALL = re.compile(r"bsx\.(?:jobs\.|analysis\.)?(\w+)\((.*)\)")
_SETTING = re.compile(r"([a-z]\w*)=(.*)")
_ARGUMENT = re.compile(r"\s*(?:\w+=)?(?:\[[^]]*\]|'[^']*'|[^,]+)")


def spelled(message: str) -> str:
    r"""Return a message of the library with the settings and calls that it names as options and commands.

    >>> spelled("use `long='window'`, or drop `strict=True`")
    'use --long window, or drop --encoder strict=true'
    >>> spelled("`bsx.jobs.train(…, seeds=[1, 2])` trains several")
    '`bsx train … --seeds 1,2` trains several'
    >>> spelled(r"\`meaning=\` sets it")
    '--meaning sets it'
    """
    return _CODE.sub(_spell, message)


def say(notes: Iterable[str]) -> None:
    """Print notes on standard error."""
    for note in notes:
        print(f"bsx: note: {shortened(spelled(note))}", file=sys.stderr)


def with_instead(words: Sequence[str], instead: tuple[str, str] | None) -> str | None:
    """Return a command with another model, or with a metric that needs none, to copy; None if there is none.

    Args:
        words: the command as it was given, without the program.
        instead: what works here now; see `ModelUnavailableError`.

    >>> with_instead(["score", "-c", "a b.txt", "-m", "roberta-large", "--lang", "de"], ("model", "me5-small-q4"))
    "bsx score -c 'a b.txt' --lang de --model me5-small-q4"
    """
    if instead is None or words[:1] not in (["score"], ["match"]) or any(":" in word and "=" in word for word in words):
        return None
    name, value = instead
    if name == "metrics" and words[0] != "score":
        return None
    from bsx.bertscore.config import ScorerConfig
    from bsx.encode.run_config import RunConfig

    fields = {
        "model",
        "metrics",
        *(ScorerConfig.model_fields.keys() - RunConfig.model_fields if name == "metrics" else ()),
    } - {"lang"}
    if name == "model":
        fields -= {"metrics"}  # several metrics may share the model
    dropped = {option for field in fields for option in SHORT.get(field, [f"--{field.replace('_', '-')}"])}
    kept: list[str] = []
    skipping = False
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("-") and len(option) > 1:
            skipping = option in dropped and "=" not in word
            if option in dropped:
                continue
        elif skipping:
            skipping = False
            continue
        kept.append(word)
    return shlex.join(["bsx", *kept, SHORT[name][-1], value])


def _spell(code: re.Match[str]) -> str:
    if code[1] in _OF_SCORE:
        return _OF_SCORE[code[1]]
    listed = _LIST.fullmatch(code[1])
    if listed is not None:
        return f"`bsx {_LISTS[listed[1]]}`"
    call = _CALL.fullmatch(code[1])
    if call is not None:
        function = call[1]
        given = [] if call[2] == "…" else _ARGUMENT.findall(call[2])
        arguments = (_option(part.strip(), function) for part in given)
        return f"`{' '.join(['bsx', _COMMANDS.get(function, function), *arguments])}`"
    return _option(code[1]) if _SETTING.fullmatch(code[1]) else code[0]


def _option(setting: str, function: str = "") -> str:
    found = _SETTING.fullmatch(setting)
    if found is None:
        return setting.strip("'")
    name, value = found[1], found[2].strip("'")
    if name in _RARE:
        return f"--encoder {name}{'=true' if value == 'True' else f'={value}' if value else ''}"
    option = SHORT.get(name, [f"--{name.replace('_', '-')}"])[-1]
    if value == "False":
        return f"--no-{name.replace('_', '-')}"
    if value in ("", "…", "[…]", "True"):
        return option
    listed = value.startswith("[")
    return f"{option} {value.strip('[]').replace(', ', ',') if listed else value}"
