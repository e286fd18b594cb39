#!/usr/bin/env bash
# set_up.sh FOLDER EXTRAS [PACKAGE…]: an environment with bsx and some of its extras, at the versions of constraints.txt,
# and packages of which only the data is wanted: what they ask for (PyTorch, say) is left out.
# TORCH_INDEX names an index with PyTorch for the CPU; it is used where it can be reached.
set -euo pipefail
folder=$1 extras=$2 began=$SECONDS
shift 2
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  { echo "bsx needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 2; }
index=()
if [ -n "${TORCH_INDEX:-}" ] &&
  "$python" -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=5)' "$TORCH_INDEX/" 2>/dev/null; then
  index=(--extra-index-url "$TORCH_INDEX")
fi
"$python" -m venv "$folder"
install=("$folder/bin/python" -m pip install --quiet --constraint constraints.txt "${index[@]}")
"${install[@]}" setuptools
"${install[@]}" --no-build-isolation --editable ".[$extras]"
if [ $# -gt 0 ]; then "${install[@]}" --no-deps "$@"; fi
echo "$folder is ready: $((SECONDS - began)) s, $(du -sm "$folder" | cut -f1) MB."
