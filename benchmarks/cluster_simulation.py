"""A thousand workers that straggle and fail: how long a job takes, with and without running slow tasks twice.

python benchmarks/cluster_simulation.py [-o benchmarks/results/cluster_simulation.json]. A simulation, not a
measurement: no cluster is used, and every assumption is in the result. Tasks (batches of pairs) are taken from one
queue by workers; each worker has a speed, some are stragglers for a while, some die and come back after a while with
their task to do again. With speculation, an idle worker runs the task that is expected to end last a second time once
the queue is empty, if that task has taken much longer than the median; whichever copy ends first counts (Dean &
Ghemawat 2004, section 3.6).
"""

from __future__ import annotations

import argparse
import heapq
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from bsx.data.output import atomic_text

SEEDS = range(1, 6)
_CLOCK = -1  # in a worker's place: not a worker's event, but time to look for idle workers


@dataclass(frozen=True)
class Cluster:
    """What is assumed.

    Attributes:
        workers: how many.
        tasks: batches of pairs.
        seconds: of one task on a worker of speed 1.
        start: seconds until a worker has loaded its metrics.
        spread: standard deviation of the logarithm of a task's time on one worker.
        stragglers: share of workers that are slow throughout (a busy neighbour, a hot processor).
        slowdown: how many times slower those are.
        failures: failures of one worker in an hour (exponential).
        restart: seconds until a failed worker is back, without its start.
        speculate: whether slow tasks are run twice at the end.
        patience: how many medians a task may have run before it is run twice.
    """

    workers: int = 1000
    tasks: int = 20_000
    seconds: float = 12.8
    start: float = 20.0
    spread: float = 0.1
    stragglers: float = 0.0
    slowdown: float = 8.0
    failures: float = 0.0
    restart: float = 60.0
    speculate: bool = False
    patience: float = 1.5


def makespan(cluster: Cluster, seed: int) -> tuple[float, float]:
    """Return the seconds until every task has ended, and the share of work that was done in vain."""
    rng = np.random.default_rng(seed)
    slow = rng.random(cluster.workers) < cluster.stragglers
    pace = cluster.seconds * np.where(slow, cluster.slowdown, 1.0)
    waiting = list(range(cluster.tasks - 1, -1, -1))
    ended = np.zeros(cluster.tasks, dtype=bool)
    running: dict[int, dict[int, float]] = {}  # task -> worker -> when it began
    spent = wasted = 0.0
    left = cluster.tasks
    idle: list[int] = []
    # Each worker's next event: (when, worker, task that ends, or -1: it becomes free; whether it dies instead)
    events: list[tuple[float, int, int, bool]] = [
        (cluster.start, worker, -1, False) for worker in range(cluster.workers)
    ]
    events.append((0.0, _CLOCK, -1, False))
    heapq.heapify(events)
    lives = rng.exponential(3600 / cluster.failures, cluster.workers) if cluster.failures else None
    now = 0.0

    def begin(worker: int, task: int) -> None:
        time = float(pace[worker] * rng.lognormal(0, cluster.spread))
        running.setdefault(task, {})[worker] = now
        dies = lives is not None and lives[worker] < now + time
        heapq.heappush(events, (max(now, float(lives[worker])) if dies else now + time, worker, task, dies))  # type: ignore[index]

    def look() -> None:
        """Give idle workers what is waiting, and then second copies of what is late."""
        while idle and waiting:
            begin(idle.pop(), waiting.pop())
        if cluster.speculate and idle and not waiting:
            limit = now - cluster.patience * cluster.seconds
            late = sorted((min(began.values()), task) for task, began in running.items() if len(began) == 1)
            for since, task in late:
                if since < limit and idle:
                    begin(idle.pop(), task)

    while left:
        now, worker, task, dies = heapq.heappop(events)
        if worker == _CLOCK:
            look()
            heapq.heappush(events, (now + cluster.seconds / 4, _CLOCK, -1, False))
            continue
        if task >= 0:
            began = running[task].pop(worker)
            spent += now - began
            if dies or ended[task]:
                wasted += now - began
            if not running[task]:
                del running[task]
            if dies:
                if not ended[task] and task not in running:
                    waiting.append(task)
                back = now + cluster.restart + cluster.start
                lives[worker] = back + rng.exponential(3600 / cluster.failures)  # type: ignore[index]
                heapq.heappush(events, (back, worker, -1, False))
                continue
            if not ended[task]:
                ended[task] = True
                left -= 1
        if waiting:
            begin(worker, waiting.pop())
        else:
            idle.append(worker)
    unfinished = sum(now - since for began in running.values() for since in began.values())
    return now, (wasted + unfinished) / (spent + unfinished)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results/cluster_simulation.json")
    output = parser.parse_args().output
    plain = Cluster()
    cases = {
        "even workers": plain,
        "1% stragglers": replace(plain, stragglers=0.01),
        "5% stragglers": replace(plain, stragglers=0.05),
        "failures": replace(plain, failures=0.2),
        "5% stragglers and failures": replace(plain, stragglers=0.05, failures=0.2),
        "the same, tasks a quarter as large": replace(
            plain, stragglers=0.05, failures=0.2, tasks=4 * plain.tasks, seconds=plain.seconds / 4
        ),
    }
    rows = []
    for name, case in cases.items():
        for speculate in (False, True):
            cluster = replace(case, speculate=speculate)
            ideal = cluster.tasks * cluster.seconds / cluster.workers
            found = np.array([makespan(cluster, seed) for seed in SEEDS])
            times = found[:, 0]
            row = {
                "case": name,
                "speculate": speculate,
                "ideal_seconds": round(ideal, 1),
                "mean_seconds": round(float(times.mean()), 1),
                "worst_seconds": round(float(times.max()), 1),
                "efficiency": round(ideal / float(times.mean()), 3),
                "wasted_share": round(float(found[:, 1].mean()), 4),
            }
            rows.append(row)
            print(json.dumps(row), flush=True)
    result = {
        "assumptions": asdict(plain),
        "seeds": len(SEEDS),
        "straggler_slowdown": plain.slowdown,
        "failures_per_worker_hour": 0.2,
        "results": rows,
    }
    with atomic_text(output) as stream:
        stream.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
