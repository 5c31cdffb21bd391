"""Comparison of TCP variants, options and queues: the table of docs/tcp.md from a sweep of scenarios/which-tcp.toml.

For each path the settings whose pages take at most a quarter longer than the fastest setting's, and of those the one with the
most download; next to it Reno's with a drop-tail queue of 100 packets. Below, all settings.
Differs from a plot: every number that the document quotes is printed. Leaves out the spread over seeds, which the sweep's table has.

    skyhop sweep scenarios/which-tcp.toml --out which-tcp && python tools/which_tcp.py which-tcp
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pyarrow.parquet as parquet

STACK, QUEUE = "flows.download.transport", "links.satellite.queue"
GOODPUT, PAGE = "download.goodput_bps", "pages.completion_median_s"


def path_of(row: dict) -> str:
    if row["links.satellite.delay_s"] < 0.1:
        return "LEO"
    if row["links.satellite.reverse.rate_bps"] < 1e6:
        return "GEO, thin return"
    return "GEO" if '"none"' in row["links.satellite.loss"] else "GEO, errors"


def stack_of(text: str) -> str:
    """The transport's keys, except those common to all stacks."""
    keys = dict(re.findall(r"(\w+) = (\"[^\"]*\"|[^,}\s]+)", text))
    keys.pop("kind")
    variant = keys.pop("variant").strip('"')
    return ", ".join([variant, *(f"{key} {value.strip(chr(34))}" for key, value in sorted(keys.items()))])


def queue_of(text: str) -> str:
    """Its kind and its keys other than the defaults."""
    keys = dict(re.findall(r"(\w+) = \"([^\"]*)\"", text))
    rest = (f"{key} {value}" for key, value in sorted(keys.items()) if key != "kind")
    return ", ".join([keys["kind"], *rest])


def main(folder: str) -> None:
    sums: dict[tuple[str, str, str], list[float]] = {}
    for row in parquet.read_table(Path(folder) / "runs.parquet").to_pylist():
        if row.get("error"):
            sys.exit(f"a run has failed: {row['error']}")
        cell = sums.setdefault((path_of(row), stack_of(row[STACK]), queue_of(row[QUEUE])), [0, 0.0, 0.0])
        for place, value in enumerate((1, row[GOODPUT] / 1e6, row[PAGE])):
            cell[place] += value
    means = {key: (goodput / count, page / count) for key, (count, goodput, page) in sums.items()}
    paths = ["LEO", "GEO", "GEO, thin return", "GEO, errors"]
    print("| path | take | queue | Mbit/s | page, s | reno, 100 packets: Mbit/s | page, s |\n|---|---|---|---|---|---|---|")
    for path in paths:
        here = {(stack, queue): mean for (p, stack, queue), mean in means.items() if p == path}
        fastest = min(page for _, page in here.values())
        fit = {key: mean for key, mean in here.items() if mean[1] <= 1.25 * fastest}
        (stack, queue), (goodput, page) = max(fit.items(), key=lambda item: item[1][0])
        base = here["reno", "drop-tail, limit 100 packets"]
        print(f"| {path} | `{stack}` | `{queue}` | {goodput:.1f} | {page:.2f} | {base[0]:.1f} | {base[1]:.2f} |")
    queues = list(dict.fromkeys(queue for _, _, queue in means))
    print("\n| stack | queue |", " | ".join(paths), "|\n|---|---|" + "---|" * len(paths))
    for stack in dict.fromkeys(stack for _, stack, _ in means):
        for queue in queues:
            numbers = ("{:.1f}, {:.2f} s".format(*means[path, stack, queue]) for path in paths)
            print(f"| `{stack}` | `{queue}` |", " | ".join(numbers), "|")


if __name__ == "__main__":
    main(*sys.argv[1:])
