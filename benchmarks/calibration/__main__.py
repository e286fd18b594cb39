"""Write results.md here, all sections or those named: python -m benchmarks.calibration [SECTION…] [--runs N].

Sections of `benchmarks.calibration.worlds` keep their counts: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from benchmarks.calibration import (
    agreement,
    averages,
    choices,
    compare,
    disentangling,
    documents,
    form,
    interventions,
    plan,
    regressions,
    systems,
    units,
)
from bsx.data.output import atomic_text

PAGE = Path(__file__).resolve().parent / "results.md"  # docs/calibration.md shows it
# name of the section -> what makes its text from the number of replicates; the page has them in this order
WRITTEN = {"disentangling": disentangling.section, "agreement": agreement.section, "choices": choices.section}
COUNTED = {
    module.SECTION.name: module.SECTION
    for module in (agreement, documents, systems, compare, averages, regressions, form, interventions, plan, units)
}
SECTIONS = (*WRITTEN, *COUNTED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("section", nargs="*", choices=[[], *SECTIONS], help="those to write anew; all unless given")
    parser.add_argument("--runs", type=int, help="replicates of each world; 400, or 2000 where counts are kept")
    parser.add_argument("--workers", type=int, default=1, help="processes, where counts are kept")
    parser.add_argument("--only", default="", help="count only tables and worlds that hold this text")
    asked = parser.parse_args()
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = dict(re.findall(r"<!-- (\w+) -->\n(.*?)<!-- /\1 -->\n", old, re.DOTALL))
    for name in asked.section or SECTIONS:
        if name in COUNTED:
            COUNTED[name].run(2000 if asked.runs is None else asked.runs, asked.workers, asked.only)
        text = COUNTED[name].text() if name in COUNTED else WRITTEN[name](asked.runs or 400)
        parts[name] = f"\n{text.strip()}\n\n"
    body = [f"<!-- {name} -->\n{parts[name]}<!-- /{name} -->\n" for name in SECTIONS if name in parts]
    with atomic_text(PAGE) as stream:
        stream.write("\n".join(body))


if __name__ == "__main__":
    main()
