"""HT figure 6.25: 35 contiguous cells of one next hop in 7 entries.

Follows section 6.6.3: Gray-coded rows and columns, blocks of a power of two on boundaries of half a block.
Differs: the thesis's cells are known from a drawing only; ours are a blob of 35, tried in every place on 16 by 16 cells.
Leaves out other blobs: alignment with the boundaries has more effect than the shape.
"""

from __future__ import annotations

import csv
import io
import subprocess
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 6.25 and section 6.6.3"
CLAIM = "35 contiguous cells aggregate into 7 entries"

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "skyhop-routing", "--example", "blocks"]
BLOB = ".####.\n######\n######\n######\n######\n.####.\n..###.\n"


def reproduce() -> Reproduction:
    text = subprocess.run(COMMAND, cwd=ROOT, check=True, capture_output=True, text=True, input=BLOB).stdout
    entries: dict[tuple[str, int, int], dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for line in csv.DictReader(io.StringIO(text)):
        key = line["algorithm"], int(line["south"]), int(line["west"])
        entries[key][int(line["entry"])].append((int(line["row"]), int(line["column"])))
    counts = {name: np.array([len(of) for key, of in entries.items() if key[0] == name]) for name in ("greedy", "covering")}
    rows = [
        Row("cells", "cells", 35, float(BLOB.count("#")), 35, 35, "a count"),
        Row(
            "entries in the best place, greedy", "entries", 7, float(counts["greedy"].min()), 6, 7,
            "a count; the drawing's blob may lie one entry worse"
        ),
        Row(
            "entries in the best place, blocks that overlap", "entries", 7, float(counts["covering"].min()), 5, 7,
            "never more than without overlaps"
        ),
        Row(
            "entries, mean of all places, greedy", "entries", 7, float(counts["greedy"].mean()), 6, 9,
            "a count; of all places, a quarter more"
        ),
    ]
    best = min((key for key in entries if key[0] == "greedy"), key=lambda key: len(entries[key]))
    worst = max((key for key in entries if key[0] == "greedy"), key=lambda key: len(entries[key]))
    remark = f"In {len(counts['greedy'])} places {counts['greedy'].min()} to {counts['greedy'].max()} entries."
    return Reproduction(rows, figure(entries[best], entries[worst]), [remark])


def figure(best: dict[int, list[tuple[int, int]]], worst: dict[int, list[tuple[int, int]]]) -> plt.Figure:
    figure, axes = plt.subplots(1, 2, figsize=(8, 4.4), layout="constrained", sharey=True)
    for ax, entries, name in [(axes[0], best, "best place"), (axes[1], worst, "worst place")]:
        for cells in entries.values():
            at = np.array(cells)
            (south, west), (north, east) = at.min(axis=0), at.max(axis=0)
            corner = (west - 0.4, south - 0.4)
            ax.add_patch(plt.Rectangle(corner, east - west + 0.8, north - south + 0.8, fc="0.9", ec="black", lw=1.2))
            ax.plot(at[:, 1], at[:, 0], "ko", ms=5)
        ax.set(aspect="equal", xlim=(-1, 6), ylim=(-1, 7), xlabel="column", title=f"{name}: 35 cells, {len(entries)} entries")
    axes[0].set(ylabel="row")
    return figure
