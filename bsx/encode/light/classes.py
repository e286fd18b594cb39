"""What classes of tokenizers of transformers do beyond the files: older files, normalisation, cutting into words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

from bsx.encode.light.sentencepiece import Pieces, read_pieces
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
