"""What 10^6 to 10^10 pairs cost at measured rates: prints the table of docs/scale/cluster.md.

python benchmarks/scale_costs.py. Reads benchmarks/results/speed.json, pairs per second of one machine; measures
nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PAIR_BYTES = 263  # UTF-8 bytes of a reference and a candidate of WMT17 direct assessment, on average of 5,040
TARGET_HOURS = 24


def costs() -> list[str]:
    """Return the rows of the table of costs."""
    speed = json.loads((RESULTS / "speed.json").read_text())
    rates = {"MiniLM, layer 6": speed["minilm"][-1], "roberta-large's shape, layer 17": speed["large"][-1]}
    lines = [
        "| encoder | pairs | text | machine-hours | machines for a day |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, row in rates.items():
        for power in range(6, 11):
            hours = 10**power / row["bsx_pairs_per_second"] / 3600
            text = 10**power * PAIR_BYTES / 1e9
            machines = max(1, -(-hours // TARGET_HOURS))
            lines.append(f"| {name} | 10^{power} | {text:,.1f} GB | {hours:,.0f} | {machines:,.0f} |")
    return lines


def main() -> None:
    print("\n".join(costs()))


if __name__ == "__main__":
    main()
