"""Tokenizers without transformers: ``tokenizer.json``, read by the package tokenizers, with the same ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import tokenizers

from bsx.encode.light.settings import known
from bsx.errors import InputError
from bsx.support.untyped import JsonObject, Untyped

# Classes of transformers that make of a text what its file says, the first of them if their settings say the same.
_BY_SETTINGS = (
    *("AlbertTokenizer", "BertTokenizer", "CamembertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"),
    *("MPNetTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer"),
)
_FROM_FILE = ("PreTrainedTokenizer", "PythonBackend", "TokenizersBackend")
# Special tokens where nobody says which: the first that is in the vocabulary.
_USUAL = {"unk": ("[UNK]", "<unk>"), "cls": ("[CLS]", "<s>"), "sep": ("[SEP]", "</s>")}
_NO_LIMIT = int(1e30)  # what transformers says where nobody set a limit


class LightTokenizer:
    """A checkpoint's tokenizer, with the part of transformers' interface that `bsx.encode.tokenizer` uses.

    Args:
        folder: of the checkpoint.
        settings: its ``tokenizer_config.json``, and what older files say beside it.

    Raises:
        InputError: if a setting is none that can be; the package tokenizers has errors of its own besides.
    """

    is_fast = True

    def __init__(self, folder: Path, settings: JsonObject) -> None:
        self.name_or_path = str(folder)
        self._inner: Untyped = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        cut = self._inner.truncation or {}
        self._inner.no_truncation()
        self._inner.no_padding()
        limit = settings.get("model_max_length")
        self.model_max_length = _NO_LIMIT if limit is None else limit
        self.truncation_side = str(settings.get("truncation_side") or cut.get("direction") or "right")
        if self.truncation_side not in ("left", "right"):
            raise InputError(f"{folder / 'tokenizer_config.json'}: truncation_side is {self.truncation_side!r}")
        added = self._inner.get_added_tokens_decoder()
        self.all_special_ids: list[int] = [number for number, token in added.items() if token.special]
        ids = {name: self._special(settings, name) for name in _USUAL}
        self.unk_token_id, self.cls_token_id, self.sep_token_id = ids["unk"], ids["cls"], ids["sep"]

    def follows(self, settings: JsonObject) -> bool:
        """Return whether the file cuts texts as a class of transformers does, which goes by the settings beside it."""
        says = settings.get
        steps = [step for part in (self._inner.normalizer, self._inner.pre_tokenizer) for step in _steps(part)]
        wanted = {
            "BertNormalizer": {
                "lowercase": says("do_lower_case", True),
                "strip_accents": says("strip_accents"),
                "handle_chinese_chars": says("tokenize_chinese_chars", True),
            },
            "ByteLevel": {"add_prefix_space": says("add_prefix_space", False)},
            "Metaspace": {"prepend_scheme": "always" if says("add_prefix_space", True) else "never"},
        }
        kinds = {step["type"] for step in steps}
        if "Replace" in kinds and (
            ("Lowercase" in kinds) != says("do_lower_case", True)
            or ("StripAccents" in kinds) == says("keep_accents", False)
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
        found: int | None = next((number for number in ids if number is not None), None)
        if text is not None and found is None:
            file = Path(self.name_or_path) / "tokenizer_config.json"
            raise InputError(f"{file}: {key} is {text!r}, which is not in the vocabulary")
        return found

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
    """Return a checkpoint's tokenizer, or None if transformers has to load it.

    Args:
        folder: of the checkpoint.

    Raises:
        InputError: if its settings cannot be used; the package tokenizers has errors of its own besides.
    """

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


def _steps(part: Untyped) -> list[JsonObject]:
    """Return the steps of a normaliser or of what cuts texts into words, as ``tokenizer.json`` has them."""
    if part is None:
        return []
    state = json.loads(part.__getstate__())
    return [state, *state.get("normalizers", ()), *state.get("pretokenizers", ())]
