"""HT figure 6.26: forwarding entries of a satellite before and after aggregation, from the equator to the pole.

Follows section 6.6.3: greedy by blocks of contiguous cells, largest first, over the tables of figure 6.24.
Differs: also has the covering problem of the thesis, and tables minimised beyond contiguous cells.
Leaves out updates of aggregated tables.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 6.26 and section 6.6.3"
CLAIM = "Aggregation usually saves over an order of magnitude, from over 20,000 entries to a couple of thousand"

TELEDESIC = {"preset": "teledesic", "isl_latitude_limit": "70 deg"}
WAYS = {
    "greedy": ("as in the thesis", "k-"),
    "covering": ("blocks that may overlap", "k--"),
    "minimised": ("minimised", "k:"),
    "first_match": ("minimised, first match counts", "0.5"),
}


def reproduce() -> Reproduction:
    table = skyhop.tables(TELEDESIC, "0.0")
    times = {name: table["entries"] / table[name] for name in WAYS}
    usually = int(np.count_nonzero(times["greedy"] >= 10))
    rows = [
        Row(
            "as in the thesis, mean reduction", "times", 10, float(times["greedy"].mean()), 10, 18,
            "over an order of magnitude, usually; read as less than two"
        ),
        Row("as in the thesis, most entries", "entries", 2000, float(table["greedy"].max()), 1500, 3000, "a couple of thousand"),
        Row(
            "blocks that may overlap, least reduction", "times", None, float(times["covering"].min()), 10, 15,
            "ours beside it: an order of magnitude in every state, where the thesis has usually"
        ),
        Row(
            "minimised, least reduction", "times", None, float(times["minimised"].min()), 12, 20,
            "ours beside it: more than by blocks alone"
        ),
        Row("entries before", "entries", 21352, float(table["entries"].max()), 21352, 21354, "a count; the caps are two cells more"),
    ]
    said = "; ".join(f"{label} {table[name].min()} to {table[name].max()}" for name, (label, _) in WAYS.items())
    remark = f'"Usually": ten times or more in {usually} of {len(table)} states of 0.0; the thesis does not name its satellite.'
    return Reproduction(rows, figure(table), [f"Entries: {said}.", remark])


def figure(table: skyhop.Table) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
    ax.plot(table["state"], table["entries"], color="0.3", lw=2, label="before aggregation")
    for name, (label, pen) in WAYS.items():
        line = {"color": "0.5", "ls": "-"} if pen == "0.5" else {"color": "black", "ls": pen[1:]}
        ax.plot(table["state"], table[name], lw=1.2, label=label, **line)
    ax.axhline(table["entries"][0] / 10, color="0.7", lw=0.8)
    ax.text(0.3, table["entries"][0] / 10 * 1.05, "a tenth", color="0.4", fontsize=8)
    ax.set(yscale="log", ylim=(200, 50_000), xlim=(0, 64), ylabel="entries")
    ax.set(xlabel="state, from the equator to the pole", title="Tables of Teledesic's satellite 0.0")
    ax.legend(frameon=False, fontsize=8, loc="lower left", ncols=2)
    return figure
