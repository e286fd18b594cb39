"""Word vectors: reading, training, normalising and writing them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.data.lines import NamedFile
from bsx.data.output import atomic_text
from bsx.errors import InputError
from bsx.support.children import run_code
from bsx.support.optional import need

Vectors = dict[str, NDArray[np.float32]]


def read_vectors(file: Path, keep: Collection[str] | None = None) -> Vectors:
    """Read word vectors, keys in lower case; of several spellings the last one wins, as in Faruqui et al.'s tool.

    Args:
        file: ``.vec`` (text: a word and its numbers a line, with or without a first line of sizes) or ``.bin``
            (fastText's model; needs the extra ``morphology``).
        keep: lower-cased words to keep; all unless given.

    Returns:
        Word -> vector (d,).

    Raises:
        InputError: naming the line whose numbers are not numbers or not as many as those before.
        MissingExtraError: for ``.bin`` without the package fasttext.
    """
    pairs = _read_bin(file, keep) if file.suffix == ".bin" else _read_text(file)
    vectors = {word.lower(): vector for word, vector in pairs if keep is None or word.lower() in keep}
    if not vectors:
        raise InputError(f"holds {'no words' if keep is None else 'none of the words wanted'}", file=file)
    return vectors


def _read_text(file: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    expected: int | None = None
    for number, line in enumerate(NamedFile(file).lines(), start=1):
        fields = line.rstrip(" ").split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
            expected = int(fields[1])
            continue
        expected = len(fields) - 1 if expected is None else expected
        if len(fields) < 2 or len(fields) - 1 != expected:
            raise InputError(f"{file}: line {number} has {len(fields) - 1} numbers, not {expected} like the rest")
        try:
            vector = np.array(fields[1:], dtype=np.float32)
        except ValueError:
            vector = np.array([np.nan], dtype=np.float32)
        if "_" in line[len(fields[0]) :] or not np.isfinite(vector).all():
            raise InputError("not all of its values are numbers", file=file, line=number)
        yield fields[0], vector


def _read_bin(file: Path, keep: Collection[str] | None) -> Iterator[tuple[str, NDArray[np.float32]]]:
    NamedFile(file)
    fasttext = need("fasttext", "Reading fastText's .bin files")
    try:
        model = fasttext.load_model(str(file))
    except ValueError as error:
        raise InputError(f"is not a fastText model ({error})", file=file) from error
    for word in model.get_words():
        if keep is None or word.lower() in keep:
            yield word, np.asarray(model.get_word_vector(word), dtype=np.float32)


def write_vectors(file: Path, vectors: Mapping[str, NDArray[np.floating]], *, internal: bool = False) -> None:
    """Write vectors as a ``.vec`` file, with enough digits to read the same 32-bit numbers again.

    Args:
        file: the file.
        vectors: word -> vector (dim,).
        internal: whether the file belongs to a cache of bsx; otherwise it may be no input of the run.
    """
    dimensions = len(next(iter(vectors.values()))) if vectors else 0
    with atomic_text(file, internal=internal) as stream:
        stream.write(f"{len(vectors)} {dimensions}\n")
        for word, vector in vectors.items():
            stream.write(" ".join([word, *(f"{value:.9g}" for value in vector)]) + "\n")


def train_vectors(texts: Sequence[Sequence[str]], options: Mapping[str, str | float] | None = None) -> Vectors:
    """Train fastText skip-gram vectors on tokenised texts.

    Unless given otherwise, as in Kaster, Zhao & Eger 2021: ten epochs, learning rate 0.2, else fastText's defaults (100
    dimensions, words that occur five times, subwords of 3 to 6 characters). One thread, with which the same texts give
    the same vectors again.

    Args:
        texts: tokens of each text, as they shall be spelled.
        options: others of fastText's ``train_unsupervised``.

    Returns:
        Word -> vector (d,), the most frequent word first, keys in lower case (the last spelling wins).

    Raises:
        MissingExtraError: if the package fasttext is not installed.
        InputError: if no word occurs often enough, or training diverges, as it can on very little text.
    """
    need("fasttext", "Training word vectors")
    chosen = {"model": "skipgram", "epoch": 10, "lr": 0.2, "thread": 1, "verbose": 0, **(options or {})}
    with tempfile.TemporaryDirectory(prefix="bsx-vectors-") as folder:
        corpus = Path(folder) / "corpus.txt"
        with corpus.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(" ".join(tokens) + "\n" for tokens in texts)
        # In a process of its own: fastText 0.9.3 at times computes NaN in one that has done other things before.
        done = run_code(_TRAIN, str(corpus), json.dumps(chosen))
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
            raise InputError(f"word vectors cannot be trained on these {len(texts)} texts: {reason}")
        words = (Path(folder) / "words.json").read_text(encoding="utf-8")
        matrix = np.load(Path(folder) / "vectors.npy", allow_pickle=False)
    return {word.lower(): row for word, row in zip(json.loads(words), matrix, strict=True)}


_TRAIN = """
import json, pathlib, sys
import fasttext, numpy
corpus = pathlib.Path(sys.argv[1])
model = fasttext.train_unsupervised(str(corpus), **json.loads(sys.argv[2]))
words = [word for word in model.get_words() if word != "</s>"]
vectors = numpy.array([model.get_word_vector(word) for word in words], dtype=numpy.float32)
corpus.with_name("words.json").write_text(json.dumps(words))
numpy.save(corpus.with_name("vectors.npy"), vectors)
"""


def normalise_vectors(vectors: Mapping[str, NDArray[np.floating]]) -> dict[str, NDArray[np.float64]]:
    """Divide each vector by sqrt(|v|^2 + 1e-6), as Faruqui et al.'s tool does before retrofitting."""
    wide = {word: np.asarray(vector, dtype=np.float64) for word, vector in vectors.items()}
    return {word: vector / np.sqrt(vector @ vector + 1e-6) for word, vector in wide.items()}
