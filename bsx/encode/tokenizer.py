"""Text to token ids: special tokens, leading space, length limit and what it cuts off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from bsx.data.corpus import BREAK
from bsx.encode.architecture import known
from bsx.errors import InputError
from bsx.models.files import TOKENIZERS, part_of
from bsx.support.memory import refuse_beyond
from bsx.support.optional import need
from bsx.support.untyped import JsonObject, Untyped, blaming

Specials = Literal["match", "exclude", "bert-score"]
LongText = Literal["truncate", "window"]
Tokens = TypeVar("Tokens", list[int], NDArray[Untyped])

# What tokenizer files say when their author set no limit is a huge number (1e30); no encoder reads this far.
_NO_LIMIT = 1_000_000
# Classes of transformers that make of a text what its file says, the first of them if their settings say the same.
_BY_SETTINGS = (
    *("AlbertTokenizer", "BertTokenizer", "CamembertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"),
    *("MPNetTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer"),
)
_FROM_FILE = ("PreTrainedTokenizer", "PythonBackend", "TokenizersBackend")
# Special tokens where nobody says which: the first that is in the vocabulary.
_USUAL = {"unk": ("[UNK]", "<unk>"), "cls": ("[CLS]", "<s>"), "sep": ("[SEP]", "</s>")}


class Rules(TypedDict, total=False):
    """What a metric says of how its texts are cut; see `Tokenizer`."""

    specials: Specials
    long: LongText
    before: str
    keep_before: bool
    context: bool


@dataclass(frozen=True)
class Span:
    """One sequence for the encoder, and the part of its output that is kept.

    Attributes:
        ids: token ids with the special tokens around them.
        positions: those of ``ids`` whose vectors represent the text, in order; of the others it is context only.
    """

    ids: list[int]
    positions: NDArray[np.int64]


@dataclass(frozen=True)
class TokenizedText:
    """One text as the encoder sees it.

    Attributes:
        spans: one sequence, or several overlapping ones for a long text read in windows.
        ids: ids (tokens,) of the kept positions of all spans, in text order.
        lost: how many tokens the length limit cut off.
    """

    spans: tuple[Span, ...]
    ids: NDArray[np.int64]
    lost: int


class Tokenizer:
    """A checkpoint's tokenizer with bsx's explicit rules around it.

    Surrounding white space is dropped. Special tokens are added here, around content ids, so that truncation keeps
    count and every family (``[CLS] x [SEP]``, ``x </s>``, ``x </s> en_XX``, ``x <sep> <cls>``) works alike.

    Args:
        inner: what `load_tokenizer` returns.
        position_limit: tokens a sequence may have in the model, special ones included; None if unlimited.
        leading_space: put a space before the text, so that byte-level BPE reads its first word as it reads others.
        specials: ``match``: special tokens weigh 0 but may be matched, as in the reference implementation;
            ``exclude``: they weigh 0 and cannot be matched; ``bert-score``: only CLS and SEP weigh 0, others count as
            words, which is what bert-score 0.3.13 does for T5, XLM and mBART.
        long: cut texts at the limit, or read them in overlapping windows.
        vocabulary: ids that the model has vectors for; None if it is not known.
        budget: bytes of memory that one text may take; None if unlimited.
        pair_bytes: bytes that two tokens of a sequence take together in a model without a limit, which compares all.
        before: a text that every text follows, for encoders trained with one (``query:``). Its tokens are context: they
            count against the limit, and no vector of theirs is kept.
        keep_before: keep their vectors, for sentence vectors that are means over all tokens.
        context: what stands before the last `bsx.data.corpus.BREAK` of a text is context: sentences, with the model's
            separator after each if it has one. As many of its last tokens as the limit leaves room for are encoded,
            and no vector of theirs is kept.
    """

    token_bytes = 0
    """Bytes that the vectors of a token take; whoever wants vectors says it, for the budget."""

    def __init__(
        self,
        inner: Untyped,
        *,
        position_limit: int | None,
        leading_space: bool = False,
        specials: Specials = "match",
        long: LongText = "truncate",
        vocabulary: int | None = None,
        budget: int | None = None,
        pair_bytes: int = 0,
        before: str = "",
        keep_before: bool = False,
        context: bool = False,
    ) -> None:
        self._inner = inner
        self._context = context
        self._budget = budget
        self._pair_bytes = pair_bytes
        self.leading_space = leading_space
        self.long = long
        self.prefix, self.suffix = _special_frame(inner)
        limits = [limit for limit in (position_limit, inner.model_max_length) if limit is not None]
        limit = min(limits, default=_NO_LIMIT)
        self.max_tokens: int | None = int(limit) if limit < _NO_LIMIT else None
        """Longest sequence in tokens, special ones included; None if unlimited."""
        self._vocabulary = min(self.vocabulary_size, vocabulary or self.vocabulary_size)
        self.before, self._keep_before = before.strip(), keep_before
        self._lead = self.contents([before])[0] if self.before else []
        around = len(self.prefix) + len(self._lead) + len(self.suffix)
        self._max_content = None if self.max_tokens is None else self.max_tokens - around
        if self._max_content is not None and self._max_content < 2:
            raise InputError(f"a limit of {self.max_tokens} tokens leaves no room for text between special tokens")
        self._check_ids([*self.prefix, *self.suffix])
        frame = {*self.prefix, *self.suffix}
        # An unknown word is a word: its token counts, although tokenizers list it among the special ones.
        self.is_special = self._lookup(frame | (set(inner.all_special_ids) - {inner.unk_token_id}))
        """Boolean table (vocabulary,): is this id a special token?"""
        if specials == "bert-score":
            self.weighs_nothing = self._lookup({inner.cls_token_id, inner.sep_token_id} - {None})
        else:
            self.weighs_nothing = self.is_special
        self.cannot_match = self.is_special if specials == "exclude" else self._lookup(set())

    @property
    def backend(self) -> str:
        """What does the splitting, with its version, for the signature."""
        return f"tokenizers-{version('tokenizers')}" if self._inner.is_fast else f"python-{version('transformers')}"

    @property
    def vocabulary_size(self) -> int:
        """One more than the largest id."""
        named: list[int] = [*self._inner.all_special_ids, *self.prefix, *self.suffix]
        return max(len(self._inner), *(i + 1 for i in named))

    def _lookup(self, ids: set[int]) -> NDArray[np.bool_]:
        table = np.zeros(self.vocabulary_size, dtype=bool)
        table[list(ids)] = True
        return table

    def contents(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's ids without special tokens and without a length limit."""
        if not texts:
            return []
        prepared = [text.strip() for text in texts]
        if self.leading_space:
            prepared = [f" {text}" if text else text for text in prepared]
        try:
            encoded = self._inner(
                prepared,
                add_special_tokens=False,
                padding=False,
                truncation=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )
        except (TypeError, UnicodeEncodeError):
            for half in re.findall("[\ud800-\udfff]", "".join(prepared)):
                raise InputError(f"a text holds {half!r}, half a character: it must be read as UTF-8") from None
            raise
        except BaseException as error:
            # The package tokenizers has no class of errors for files that fail at a text; a panic is no Exception.
            if type(error) is not Exception and type(error).__name__ != "PanicException":
                raise
            raise self._unusable(" ".join(str(error).split())[:200]) from error
        ids = list(encoded["input_ids"])
        for row in ids:
            self._check_ids(row)
        return ids

    def _check_ids(self, ids: Sequence[int]) -> None:
        """Refuse ids that the model has no vectors for."""
        highest = max(ids, default=0)
        if highest >= self._vocabulary:
            raise self._unusable(f"it gives the id {highest}, and the model's vocabulary has {self._vocabulary}")

    def _unusable(self, why: str) -> InputError:
        folder = self._inner.name_or_path
        return InputError(f"{part_of(Path(folder), 'its tokenizer', TOKENIZERS)} cannot be used: {why}", file=folder)

    def words(self, text: str) -> NDArray[np.int64]:
        """Return which white-space word of a text each content token belongs to, counted from 0 (tokens,).

        A tokenizer that reports where its pieces lie is asked; another one is given the words one by one, which is
        exact where pieces do not depend on what stands before the word.
        """
        prepared = f" {text.strip()}" if self.leading_space else text.strip()
        if not self._inner.is_fast:
            return np.repeat(np.arange(len(prepared.split())), [len(ids) for ids in self.contents(prepared.split())])
        space = np.array([character.isspace() for character in prepared], dtype=bool)
        starts = ~space & np.concatenate([[True], space[:-1]])
        word_at = np.cumsum(starts) - ~space  # a space belongs to the word after it
        spans = self._inner(prepared, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return np.array([word_at[max(start, end - 1)] for start, end in spans["offset_mapping"]], dtype=np.int64)

    def word_of(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[np.int64]]:
        """Return which word each token belongs to, for texts that are given words joined by spaces; see `words`.

        For each text, that is a number for each of the ids that `tokenize` gives (tokens,): the word's place in its
        sentence, or -1 for special tokens. A word may hold white space; one that the length limit cut off has no token.
        """
        results = []
        for words in sentences:
            whole = np.repeat(np.arange(len(words)), [len(word.split()) for word in words])
            content = whole[self.words(" ".join(words))]
            if self.long == "truncate":
                content = self._cut(content)
            before = len(self.prefix) + len(self._lead) * self._keep_before
            results.append(np.concatenate([[-1] * before, content, [-1] * len(self.suffix)]).astype(np.int64))
        return results

    def tokenize(self, texts: Sequence[str]) -> list[TokenizedText]:
        """Return each text with special tokens, within the length limit."""
        if not self._context:
            return [self._frame(content) for content in self.contents(texts)]
        results = []
        separator = [] if self._inner.sep_token_id is None else [int(self._inner.sep_token_id)]
        for text in texts:
            *before, content = self.contents(text.split(BREAK))
            context = [token for sentence in before for token in (*sentence, *separator)]
            room = len(context) if self._max_content is None else self._max_content - len(content)
            results.append(self._frame(content, context[-room:] if room > 0 else []))  # as much as there is room for
        return results

    def _frame(self, content: list[int], context: Sequence[int] = ()) -> TokenizedText:
        """Put special tokens around content and its context; what is too long is cut off, or read in windows."""
        limit = self._max_content
        in_windows = limit is not None and len(content) > limit and self.long == "window"
        if self._budget is not None and (limit is None or in_windows):
            needed = len(content) * (self.token_bytes + (len(content) * self._pair_bytes if limit is None else 0))
            refuse_beyond(needed, self._budget, f"a text of {len(content):,} tokens")
        if limit is not None and in_windows:
            return self._windows(content, limit)
        kept = self._cut(content)
        around = len(self.prefix) + len(self._lead) + len(context) + len(self.suffix)
        span = self._span(kept, (0, around + len(kept)), context)
        return TokenizedText((span,), np.asarray(span.ids, dtype=np.int64)[span.positions], len(content) - len(kept))

    def _cut(self, content: Tokens) -> Tokens:
        """Return what the length limit leaves of a text's tokens."""
        limit = self._max_content
        if limit is None or len(content) <= limit:
            return content
        return content[-limit:] if self._inner.truncation_side == "left" else content[:limit]

    def _span(self, content: list[int], keep: tuple[int, int], context: Sequence[int] = ()) -> Span:
        """Return a sequence with everything that stands around content, of which positions from-to may be kept."""
        led = len(self.prefix) + len(self._lead)
        low, high = led if self._keep_before else len(self.prefix), led + len(context)  # of what is context only
        positions = np.arange(*keep)
        if keep[0] <= low < high:
            positions = np.delete(positions, slice(low - keep[0], high - keep[0]))
        return Span([*self.prefix, *self._lead, *context, *content, *self.suffix], positions)

    def _windows(self, content: list[int], limit: int) -> TokenizedText:
        """Windows overlap by half; each token keeps the vector of the window in which it stands furthest from an edge.

        The first window keeps its leading special tokens and the last its trailing ones, so that the whole looks like
        one long sequence.
        """
        starts = [*range(0, len(content) - limit, max(1, limit // 2)), len(content) - limit]
        spans = []
        for number, start in enumerate(starts):
            first, last = number == 0, number == len(starts) - 1
            # A boundary lies in the middle of the overlap with the neighbouring window.
            low = 0 if first else (start + starts[number - 1] + limit) // 2
            high = len(content) if last else (starts[number + 1] + start + limit) // 2
            shift = len(self.prefix) + len(self._lead) - start
            end = limit + shift + start + len(self.suffix)
            spans.append(
                self._span(content[start : start + limit], (0 if first else low + shift, end if last else high + shift))
            )
        kept = [np.asarray(span.ids, dtype=np.int64)[span.positions] for span in spans]
        return TokenizedText(tuple(spans), np.concatenate(kept), 0)

    def raw_pieces(self, ids: Iterable[int]) -> list[str]:
        """Return pieces as the tokenizer spells them, markers of word starts included."""
        return ["" if piece is None else str(piece) for piece in self._inner.convert_ids_to_tokens(list(ids))]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return readable tokens for display: byte-level pieces are decoded, markers of word starts removed."""
        raw = self._inner.convert_ids_to_tokens(list(ids))
        readable = []
        for token_id, piece in zip(ids, raw, strict=True):
            decoded = self._inner.decode([int(token_id)]).strip()
            readable.append(decoded if decoded and "�" not in decoded else str(piece))
        return readable


def _special_frame(inner: Untyped) -> tuple[list[int], list[int]]:
    """Return the ids a tokenizer puts before and after a single text, found by encoding a probe."""
    for probe in ("a", "the", "1", "."):
        content = list(inner(probe, add_special_tokens=False)["input_ids"])
        framed = list(inner(probe, add_special_tokens=True)["input_ids"])
        for start in range(len(framed) - len(content) + 1):
            if content and framed[start : start + len(content)] == content:
                return framed[:start], framed[start + len(content) :]
    raise InputError(f"the tokenizer {type(inner).__name__} does not show where it puts its special tokens")


def load_tokenizer(folder: Path, *, light: bool = False, trust_remote_code: bool = False) -> Untyped:
    """Load a checkpoint's tokenizer from its folder, without network.

    Args:
        folder: of the checkpoint.
        light: do it without transformers where its ``tokenizer.json`` says all.
        trust_remote_code: let the checkpoint run its own Python code.

    Raises:
        InputError: if its files are missing or damaged.
        MissingExtraError: if transformers is wanted and not installed.
    """
    with blaming(f"{folder}: {part_of(folder, 'its tokenizer', TOKENIZERS)} cannot be loaded"):
        inner: Untyped = None
        if light:
            inner = load_light(folder)
        if inner is None:
            why = "" if (folder / "tokenizer.json").is_file() else " has no tokenizer.json and"
            transformers: Untyped = need("transformers", f"The tokenizer in {folder}{why}")
            inner = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=trust_remote_code
            )
        if len(inner) <= len(inner.all_special_ids):  # what the library makes of a folder without the files
            raise ValueError("its files hold no vocabulary")
        if not inner.model_max_length > 0:
            raise ValueError(f"its tokenizer_config.json says model_max_length {inner.model_max_length}")
    return inner


class LightTokenizer:
    """A checkpoint's ``tokenizer.json``, read by the package tokenizers: the same ids, without transformers.

    It has the part of transformers' interface that `Tokenizer` uses. Settings are those of the folder's
    ``tokenizer_config.json``, and what older files say beside it.

    Raises:
        InputError: if a setting is none that can be; the package tokenizers has errors of its own besides.
    """

    is_fast = True

    def __init__(self, folder: Path, settings: JsonObject) -> None:
        self.name_or_path = str(folder)
        tokenizers: Untyped = need("tokenizers", "Scoring with encoders")
        self._inner: Untyped = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        cut = self._inner.truncation or {}
        self._inner.no_truncation()
        self._inner.no_padding()
        limit = settings.get("model_max_length")
        self.model_max_length = int(1e30) if limit is None else limit  # as transformers has it
        self.truncation_side = str(settings.get("truncation_side") or cut.get("direction") or "right")
        if self.truncation_side not in ("left", "right"):
            raise InputError(f"{folder / 'tokenizer_config.json'}: truncation_side is {self.truncation_side!r}")
        added = self._inner.get_added_tokens_decoder()
        self.all_special_ids: list[int] = [number for number, token in added.items() if token.special]
        ids = {name: self._special(settings, name) for name in _USUAL}
        self.unk_token_id, self.cls_token_id, self.sep_token_id = ids["unk"], ids["cls"], ids["sep"]

    def follows(self, settings: JsonObject) -> bool:
        """Return whether the file cuts texts as a class of transformers does, which goes by the settings beside it."""
        setting = settings.get
        parts = [part for part in (self._inner.normalizer, self._inner.pre_tokenizer) if part is not None]
        states = [json.loads(part.__getstate__()) for part in parts]
        steps = [step for s in states for step in (s, *s.get("normalizers", ()), *s.get("pretokenizers", ()))]
        wanted = {
            "BertNormalizer": {
                "lowercase": setting("do_lower_case", True),
                "strip_accents": setting("strip_accents"),
                "handle_chinese_chars": setting("tokenize_chinese_chars", True),
            },
            "ByteLevel": {"add_prefix_space": setting("add_prefix_space", False)},
            "Metaspace": {"prepend_scheme": "always" if setting("add_prefix_space", True) else "never"},
        }
        kinds = {step["type"] for step in steps}
        if "Replace" in kinds and (
            ("Lowercase" in kinds) != setting("do_lower_case", True)
            or ("StripAccents" in kinds) == setting("keep_accents", False)
        ):  # ALBERT's
            return False
        return all(step[name] == value for step in steps for name, value in wanted.get(step["type"], {}).items())

    def _special(self, settings: JsonObject, name: str) -> int | None:
        """Return the id of a special token that has a name, None if there is none."""
        key = f"{name}_token"
        named = settings.get(key)
        text = named.get("content") if isinstance(named, dict) else named
        if key in settings and text is None:
            return None
        texts = _USUAL[name] if text is None else (text,)
        ids = (self._inner.token_to_id(text) for text in texts if isinstance(text, str))
        number: int | None = next((number for number in ids if number is not None), None)
        if text is not None and number is None:
            file = Path(self.name_or_path) / "tokenizer_config.json"
            raise InputError(f"{file}: {key} is {text!r}, which is not in the vocabulary")
        return number

    def __len__(self) -> int:
        return int(self._inner.get_vocab_size())

    def __call__(
        self,
        texts: str | Sequence[str],
        *,
        add_special_tokens: bool = True,
        return_offsets_mapping: bool = False,
        **_: object,
    ) -> dict[str, Untyped]:
        """Return ``input_ids``, and ``offset_mapping`` if it is wanted, of a text or of several."""
        if isinstance(texts, str):
            encoding = self._inner.encode(texts, add_special_tokens=add_special_tokens)
            return {"input_ids": encoding.ids, "offset_mapping": encoding.offsets}
        encode = self._inner.encode_batch if return_offsets_mapping else self._inner.encode_batch_fast
        several = encode(list(texts), add_special_tokens=add_special_tokens)
        result = {"input_ids": [encoding.ids for encoding in several]}
        return result | {"offset_mapping": [e.offsets for e in several]} if return_offsets_mapping else result

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """Return the pieces of ids, None for those that are none."""
        return [self._inner.id_to_token(int(i)) for i in ids]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens included."""
        return str(self._inner.decode(list(ids), skip_special_tokens=False))


def load_light(folder: Path) -> LightTokenizer | None:
    """Return the tokenizer of a checkpoint's folder, or None if transformers has to load it; see `LightTokenizer`."""

    def content(name: str) -> JsonObject:
        file = folder / name
        result: JsonObject = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return result

    settings, config = content("tokenizer_config.json"), content("config.json")
    if "added_tokens_decoder" not in settings:
        settings |= content("special_tokens_map.json")
    named = settings.get("tokenizer_class") or config.get("tokenizer_class")
    kind = str(named).removesuffix("Fast")
    enough = kind in (*_BY_SETTINGS, *_FROM_FILE) if named else known(config)
    if settings.get("auto_map") or not enough or not (folder / "tokenizer.json").is_file():
        return None
    result = LightTokenizer(folder, settings)
    return result if kind in _FROM_FILE or result.follows(settings) else None
