"""Tokenizers without transformers: a checkpoint's files, read by the package tokenizers, with the same ids.

``tokenizer.json`` says all, or nearly: where a checkpoint names a class of transformers, that class decides how a text
is normalised and cut into words, and the file gives the pieces. Older checkpoints have ``vocab.txt``, ``vocab.json``
with ``merges.txt``, or a file of SentencePiece instead.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from bsx.encode.light.sentencepiece import Pieces, read_pieces
from bsx.errors import InputError
from bsx.support.untyped import JsonObject, Untyped

_BERT = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
_ROBERTA = {
    "bos": "<s>",
    "eos": "</s>",
    "unk": "<unk>",
    "sep": "</s>",
    "pad": "<pad>",
    "cls": "<s>",
    "mask": "<mask>",
}
# model_type -> the class that transformers has for it
CLASSES = {
    "bert": "BertTokenizer",
    "roberta": "RobertaTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
    "camembert": "CamembertTokenizer",
    "mpnet": "MPNetTokenizer",
    "electra": "BertTokenizer",
    "albert": "AlbertTokenizer",
    "distilbert": "BertTokenizer",
    "deberta": "DebertaTokenizer",
    "deberta-v2": "DebertaV2Tokenizer",
}


@dataclass
class TokenizerFiles:
    """What a checkpoint's folder says of its tokenizer.

    Attributes:
        folder: the folder.
        said: its ``tokenizer_config.json``, and what older files say beside it.
    """

    folder: Path
    said: JsonObject
    specials: dict[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return what a file holds."""
        return (self.folder / name).read_text(encoding="utf-8")

    def has(self, name: str) -> bool:
        """Tell whether there is a file."""
        return (self.folder / name).is_file()


@dataclass(frozen=True)
class TokenizerClass:
    """What a class of transformers does beyond the files.

    Attributes:
        specials: special tokens that it has where nobody says which.
        build: makes a tokenizer of older files; None if there are none.
        shape: sets how texts are normalised and cut into words; its last argument is SentencePiece's rules.
        greedy_mask: whether the mask takes the space before it, as some say.
        trims: whether the place of a piece in the text leaves out the space before it.
    """

    specials: dict[str, str]
    build: Callable[[TokenizerFiles], tokenizers.Tokenizer | None]
    shape: Callable[[Untyped, TokenizerFiles, bytes | None], None]
    greedy_mask: bool = False
    trims: bool = False


def _word_pieces(files: TokenizerFiles) -> tokenizers.Tokenizer | None:
    if not files.has("vocab.txt"):
        return None
    lines = files.text("vocab.txt").split("\n")
    pieces = {line: number for number, line in enumerate(lines[:-1] if lines[-1] == "" else lines)}
    return tokenizers.Tokenizer(models.WordPiece(pieces, unk_token=files.specials["unk"]))


def _byte_pairs(files: TokenizerFiles) -> tokenizers.Tokenizer | None:
    if not (files.has("vocab.json") and files.has("merges.txt")):
        return None
    lines = files.text("merges.txt").split("\n")
    pairs = [tuple(line.split()) for line in lines if line.strip() and not line.startswith("#version")]
    merges = [(first, second) for first, second in pairs]
    model = models.BPE(
        vocab=json.loads(files.text("vocab.json")),
        merges=merges,
        continuing_subword_prefix="",
        end_of_word_suffix="",
        fuse_unk=False,
    )
    return tokenizers.Tokenizer(model)


_Arrange = Callable[[Pieces, TokenizerFiles], list[tuple[str, float]]]


def _unigrams(
    arrange: Callable[[Pieces, TokenizerFiles], list[tuple[str, float]]],
) -> Callable[[TokenizerFiles], Untyped]:
    """Return what makes a tokenizer of a file of SentencePiece.

    Args:
        arrange: from the file's pieces to those of the tokenizer, whose order makes the ids.
    """

    def build(files: TokenizerFiles) -> tokenizers.Tokenizer | None:
        names = ("sentencepiece.bpe.model", "spiece.model", "spm.model", "tokenizer.model")
        file = next((files.folder / name for name in names if files.has(name)), None)
        if file is None:
            return None
        pieces = read_pieces(file)
        vocabulary = arrange(pieces, files)
        unknown = next(i for i, (piece, _) in enumerate(vocabulary) if piece == files.specials["unk"])
        made = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=unknown, byte_fallback=False))
        if pieces.charsmap:
            made.normalizer = normalizers.Precompiled(pieces.charsmap)
        made.add_tokens([AddedToken(text, normalized=False, special=special) for text, special in pieces.added])
        return made

    return build


def _of_xlm_roberta(pieces: Pieces, files: TokenizerFiles) -> list[tuple[str, float]]:
    first = [files.specials[name] for name in ("bos", "pad", "eos", "unk")]
    return [*((text, 0.0) for text in first), *pieces.scored[3:], (files.specials["mask"], 0.0)]


def _of_camembert(pieces: Pieces, files: TokenizerFiles) -> list[tuple[str, float]]:
    special = files.specials
    first = [("<s>NOTUSED", 0.0), (special["pad"], 0.0), ("</s>NOTUSED", 0.0), (special["unk"], 0.0)]
    return [*first, ("<unk>NOTUSED", -100.0), *pieces.scored[1:], (special["mask"], 0.0)]


def _bert_shape(made: Untyped, files: TokenizerFiles, charsmap: bytes | None) -> None:
    said = files.said
    made.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=said.get("tokenize_chinese_chars", True),
        strip_accents=said.get("strip_accents"),
        lowercase=said.get("do_lower_case", True),
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece(prefix="##")


def _byte_shape(made: Untyped, files: TokenizerFiles, charsmap: bytes | None) -> None:
    made.normalizer = None
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=files.said.get("add_prefix_space", False))
    made.decoder = decoders.ByteLevel()


def _words_shape(made: Untyped, files: TokenizerFiles, charsmap: bytes | None) -> None:
    made.normalizer = None if charsmap is None else normalizers.Precompiled(charsmap)
    _spaces(made, files, pre_tokenizers.WhitespaceSplit(), otherwise="never")


def _spaces(made: Untyped, files: TokenizerFiles, *before: Untyped, otherwise: str) -> None:
    scheme = "always" if files.said.get("add_prefix_space", True) else otherwise
    marks = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme)
    made.pre_tokenizer = pre_tokenizers.Sequence([*before, marks])
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme=scheme)


def _albert_shape(made: Untyped, files: TokenizerFiles, charsmap: bytes | None) -> None:
    steps: list[Untyped] = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not files.said.get("keep_accents", False):
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if files.said.get("do_lower_case", True):
        steps.append(normalizers.Lowercase())
    if charsmap is not None:
        steps.append(normalizers.Precompiled(charsmap))
    made.normalizer = normalizers.Sequence(steps)
    _spaces(made, files, pre_tokenizers.WhitespaceSplit(), otherwise="never")


def _deberta_v2_shape(made: Untyped, files: TokenizerFiles, charsmap: bytes | None) -> None:
    steps: list[Untyped] = [normalizers.Lowercase()] if files.said.get("do_lower_case", False) else []
    steps += [normalizers.Replace(tokenizers.Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC()]
    made.normalizer = normalizers.Sequence([*steps, normalizers.Strip(left=False, right=True)])
    marks = [pre_tokenizers.Punctuation(behavior="isolated")] if files.said.get("split_by_punct", False) else []
    _spaces(made, files, *marks, otherwise="first")


_MPNET = {**_ROBERTA, "unk": "[UNK]"}
_ALBERT = {"bos": "[CLS]", "eos": "[SEP]", **_BERT, "unk": "<unk>", "pad": "<pad>"}
_DEBERTA = {"bos": "[CLS]", "eos": "[SEP]", **_BERT}
SHAPES = {
    "BertTokenizer": TokenizerClass(_BERT, _word_pieces, _bert_shape),
    "DistilBertTokenizer": TokenizerClass(_BERT, _word_pieces, _bert_shape),
    "ElectraTokenizer": TokenizerClass(_BERT, _word_pieces, _bert_shape),
    "MPNetTokenizer": TokenizerClass(_MPNET, _word_pieces, _bert_shape, greedy_mask=True, trims=True),
    "RobertaTokenizer": TokenizerClass(_ROBERTA, _byte_pairs, _byte_shape, trims=True),
    "DebertaTokenizer": TokenizerClass(_DEBERTA, _byte_pairs, _byte_shape, greedy_mask=True),
    "XLMRobertaTokenizer": TokenizerClass(_ROBERTA, _unigrams(_of_xlm_roberta), _words_shape),
    "CamembertTokenizer": TokenizerClass(_ROBERTA, _unigrams(_of_camembert), _words_shape, greedy_mask=True),
    "AlbertTokenizer": TokenizerClass(_ALBERT, _unigrams(lambda pieces, _: pieces.scored), _albert_shape),
    "DebertaV2Tokenizer": TokenizerClass(_DEBERTA, _unigrams(lambda pieces, _: pieces.scored), _deberta_v2_shape),
}


_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_FROM_FILE = ("TokenizersBackend", "PreTrainedTokenizer", "PreTrainedTokenizerFast", "PythonBackend")
_NO_LIMIT = int(1e30)  # what transformers says where nobody set a limit


class LightTokenizer:
    """A checkpoint's tokenizer, with the part of transformers' interface that `bsx.encode.tokenizer` uses."""

    is_fast = True

    def __init__(
        self, folder: Path, made: Untyped, said: JsonObject, specials: dict[str, str], extra: list[str]
    ) -> None:
        self.name_or_path = str(folder)
        self._made = made
        cut = made.truncation
        made.no_truncation()
        made.no_padding()
        limit = said.get("model_max_length")
        self.model_max_length = _NO_LIMIT if limit is None else limit
        self.truncation_side = str(said.get("truncation_side") or (cut or {}).get("direction") or "right")
        if self.truncation_side not in ("left", "right"):
            raise InputError(f"{folder / 'tokenizer_config.json'}: truncation_side is {self.truncation_side!r}")
        self._ids = {name: made.token_to_id(text) for name, text in specials.items()}
        texts = dict.fromkeys([*(specials[name] for name in specials), *extra])
        results = [made.token_to_id(text) for text in texts]
        self.all_special_ids: list[int] = [i for i in results if i is not None]
        self.unk_token_id: int | None = self._ids.get("unk")
        self.cls_token_id: int | None = self._ids.get("cls")
        self.sep_token_id: int | None = self._ids.get("sep")

    def __len__(self) -> int:
        return int(self._made.get_vocab_size())

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
            encoding = self._made.encode(texts, add_special_tokens=add_special_tokens)
            return {"input_ids": encoding.ids, "offset_mapping": encoding.offsets}
        if return_offsets_mapping:
            several = self._made.encode_batch(list(texts), add_special_tokens=add_special_tokens)
            return {
                "input_ids": [encoding.ids for encoding in several],
                "offset_mapping": [encoding.offsets for encoding in several],
            }
        several = self._made.encode_batch_fast(list(texts), add_special_tokens=add_special_tokens)
        return {"input_ids": [encoding.ids for encoding in several]}

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str | None]:
        """Return the pieces of ids, None for those that are none."""
        return [self._made.id_to_token(int(i)) for i in ids]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens included."""
        return str(self._made.decode(list(ids), skip_special_tokens=False))


def load_light(folder: Path, model_type: str) -> LightTokenizer | None:
    """Return a checkpoint's tokenizer, or None if transformers has to load it.

    Args:
        folder: of the checkpoint.
        model_type: its architecture.

    Raises:
        InputError: if a file of SentencePiece is damaged; the package tokenizers has errors of its own besides.
    """
    files = _files(folder)
    name = _class_of(files, model_type)
    if name is None:
        return None
    kind = SHAPES.get(name)
    files.specials = _specials(files, {} if kind is None else kind.specials)
    if files.has("tokenizer.json"):
        made: Untyped = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    else:
        made = None if kind is None else kind.build(files)
        if made is None:
            return None
    if kind is not None:
        kind.shape(made, files, _charsmap(made.normalizer))
    extra = _extra(files.said)
    greedy = kind is not None and kind.greedy_mask
    _add_missing(made, files, extra, greedy_mask=greedy)
    if kind is not None:
        _frame(made, files, kind)
    return LightTokenizer(folder, made, files.said, files.specials, extra)


def _files(folder: Path) -> TokenizerFiles:
    files = TokenizerFiles(folder, {})
    if files.has("tokenizer_config.json"):
        files.said = json.loads(files.text("tokenizer_config.json"))
    if "added_tokens_decoder" not in files.said and files.has("special_tokens_map.json"):
        files.said |= json.loads(files.text("special_tokens_map.json"))
    return files


def _class_of(files: TokenizerFiles, model_type: str) -> str | None:
    """Return the class of transformers that decides, ``""`` if the file does, None if it is none that is known here."""
    if files.said.get("auto_map"):
        return None
    usual = CLASSES.get(model_type)
    named = files.said.get("tokenizer_class") or json.loads(files.text("config.json")).get("tokenizer_class") or usual
    if named is None:
        return None
    name = str(named).removesuffix("Fast") if named != "PreTrainedTokenizerFast" else str(named)
    if name in SHAPES:
        return name
    return "" if name in _FROM_FILE and files.has("tokenizer.json") else None


def _content(token: object) -> str | None:
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _specials(files: TokenizerFiles, usual: dict[str, str]) -> dict[str, str]:
    """Return the special tokens that have a name.

    Raises:
        InputError: if one is no text.
    """
    results = {}
    for name in _NAMED:
        short, said = name.removesuffix("_token"), files.said.get(name)
        text = _content(said) if name in files.said else usual.get(short)
        if text is not None:
            results[short] = text
        elif said is not None:
            raise InputError(f"{files.folder / 'tokenizer_config.json'}: {name} is {said!r}, no text")
    return results


def _extra(said: JsonObject) -> list[str]:
    """Return the special tokens without a name among those that have one."""
    listed = said.get("extra_special_tokens") or said.get("additional_special_tokens") or []
    texts = list(listed.values()) if isinstance(listed, dict) else list(listed)
    texts += [token for name, token in said.items() if name.endswith("_token") and name not in _NAMED]
    return [text for text in map(_content, (t for t in texts if isinstance(t, str | dict))) if text is not None]


def _charsmap(normalizer: Untyped) -> bytes | None:
    """Return SentencePiece's rules of normalisation that a tokenizer's file holds, if it does."""
    if normalizer is None:
        return None
    said = json.loads(normalizer.__getstate__())
    steps = said["normalizers"] if said.get("type") == "Sequence" else [said]
    maps = (step["precompiled_charsmap"] for step in steps if step.get("precompiled_charsmap"))
    return next((base64.b64decode(text) for text in maps), None)


def _add_missing(made: Untyped, files: TokenizerFiles, extra: list[str], *, greedy_mask: bool) -> None:
    """Make tokens out of what the files name beside the pieces, where it is none yet."""
    there = {str(token.content) for token in made.get_added_tokens_decoder().values()}
    listed = sorted(files.said.get("added_tokens_decoder", {}).items(), key=lambda item: int(item[0]))
    tokens = [AddedToken(**{k: v for k, v in token.items() if not k.startswith("__")}) for _, token in listed]
    if not listed and files.has("added_tokens.json"):
        named = {*files.specials.values(), *extra}
        older = sorted(json.loads(files.text("added_tokens.json")).items(), key=lambda item: int(item[1]))
        tokens = [AddedToken(text, normalized=text not in named, special=text in named) for text, _ in older]
    known = {str(token.content) for token in tokens}
    for short, text in files.specials.items():
        if text not in known:
            tokens.append(AddedToken(text, special=True, lstrip=greedy_mask and short == "mask"))
    tokens += [AddedToken(text, special=True) for text in extra if text not in known]
    made.add_tokens([token for token in tokens if token.content not in there])


def _frame(made: Untyped, files: TokenizerFiles, kind: TokenizerClass) -> None:
    """Have the classification and the separation token put around every text, as all these classes do."""
    first, last = files.specials["cls"], files.specials["sep"]
    numbers = [(text, made.token_to_id(text)) for text in dict.fromkeys([first, last])]
    if any(number is None for _, number in numbers):
        raise InputError(f"its special tokens {first} and {last} are not in its vocabulary")
    if kind.trims:
        end, start = ((text, made.token_to_id(text)) for text in (last, first))
        space = bool(files.said.get("add_prefix_space", False))
        made.post_processor = processors.RobertaProcessing(end, start, True, space)
        return
    made.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=numbers)
