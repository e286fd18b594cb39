"""Write the dependency parses of the English example texts, bsx/examples/en-*.conllu, one file a column.

Run: python tools/parse_examples.py FOLDER, with FOLDER holding a stanza pipeline for English, as
--stanza parser_dir=FOLDER takes it.
A sentence a text, with its words as stanza cuts them; columns that nothing here reads stay empty.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from bsx.analysis.factors.parsers import StanzaParser
from bsx.data.output import atomic_text

EXAMPLES = Path(__file__).resolve().parent.parent / "bsx" / "examples"


def main(folder: Path) -> None:
    with (EXAMPLES / "en-systems.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    parser = StanzaParser("en", "parse", pretokenized=False, folder=folder)
    print(parser.identity)
    for column in ("reference", "atlas", "brook", "cinder"):
        texts = [row[column] for row in rows]
        parses = [parse for some in parser(texts) for parse in some]
        with atomic_text(EXAMPLES / f"en-{column}.conllu") as stream:
            for row, text, parse in zip(rows, texts, parses, strict=True):
                if parse is None or "".join(parse.words) != "".join(text.split()):
                    raise SystemExit(f"{row['id']} {column}: the parser's words are not those of the text: {parse}")
                stream.write(f"# sent_id = {row['id']}-{column}\n# text = {text}\n")
                for number, (word, tag, feats, head) in enumerate(
                    zip(parse.words, parse.upos, parse.feats, parse.heads, strict=True), start=1
                ):
                    fields = (number, word, "_", tag or "_", "_", feats or "_", head, "_", "_", "_")
                    stream.write("\t".join(map(str, fields)) + "\n")
                stream.write("\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
