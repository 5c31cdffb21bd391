"""WP figures 1 to 3: orbits, networks, and the delay from Quito to London and Tokyo over a day.

Follows the section on cross-seam links: Teledesic's original 288 satellites and Spaceway NGSO.
Differs: the epoch is ours; a terminal holds one satellite. Ascending and descending satellites are compared over Spaceway NGSO, a
rosette, whose terminals see both. Leaves out the picture of the Earth among the orbits; figure 1 is a table of heights here.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop
from skyhop import plot

SOURCE = "Wood et al. 2001, figures 1, 2 and 3"
CLAIM = "Without links across the seam delay jumps twice a day; with them the largest delay is smaller"

PAIRS = [("quito", "london"), ("quito", "tokyo")]
WITHOUT = {"preset": "teledesic", "cross_seam_isls": False}
WITH = {"preset": "teledesic", "cross_seam_isls": True}
UP = {"preset": "spaceway-ngso", "handover": "ascending"}
DOWN = {"preset": "spaceway-ngso", "handover": "descending"}
CASES = {"no cross-seam links": WITHOUT, "cross-seam links": WITH, "ascending": UP, "descending": DOWN}
#: Heights above the equator in km, as published for figure 1.
HEIGHTS = {"teledesic": 1375, "spaceway-ngso": 10352, "geo-3": 35786}


SHORTER = {"tokyo": "ours takes the path of least delay, which across the seam has one more link, of shorter ones: 11 instead of 10"}


def reproduce() -> Reproduction:
    days = {name: skyhop.delay(PAIRS, case, step="60 s", antennas=1) for name, case in CASES.items()}
    rows = []
    for preset, height in HEIGHTS.items():
        snapshot = skyhop.snapshot(preset)
        ours = float(np.median(snapshot.nodes["altitude_km"]))
        rows.append(
            Row(
                f"height of {preset}", "km", height, ours, height * 0.999, height * 1.001,
                "the Earth's flattening under a satellite, of which the median is taken"
            )
        )
    seen = 0
    for pair in PAIRS:
        name = f"{pair[0]} to {pair[1]}"
        without, across = (series(days[case], pair)[1] for case in ("no cross-seam links", "cross-seam links"))
        jumps = int(np.sum(np.abs(np.diff(regime(without))) > 0))
        rows += [
            Row(
                f"{name}: Teledesic, seam comes and goes", "", 4, jumps, 3, 5,
                "twice a day there and back; the day may begin under the seam"
            ),
            Row(
                f"{name}: largest delay, with over without", "", None, float(np.nanmax(across) / np.nanmax(without)), 0.5, 0.95,
                "words: smaller"
            ),
        ]
        hops, fewer = (links(days[case], pair) for case in ("no cross-seam links", "cross-seam links"))
        rows += [
            Row(
                f"{name}: most links of a path, without links across the seam", "links", None, float(hops.max()), 8, 24,
                "drawn (3ii): ten and more; a way over the pole crosses half of two planes of 24"
            ),
            Row(
                f"{name}: most links of a path, with over without", "", None, float(fewer.max() / hops.max()), 0.4, 0.95,
                "words: path lengths are reduced", SHORTER.get(pair[1], "")
            ),
        ]
        seen += jumps >= 3 and np.nanmax(across) < np.nanmax(without)
        north, south = (series(days[case], pair)[1] for case in ("ascending", "descending"))
        rows.append(
            Row(
                f"{name}: ascending and descending satellites apart, mean", "ms", None, float(np.nanmean(np.abs(north - south))), 15,
                90, "drawn: two sets of curves, apart by tens of ms"
            )
        )
    rows.append(
        Row(
            "pairs whose delay jumps without links across the seam, and is less with them, share of two", "", 1, seen / len(PAIRS), 1, 1,
            "words: both"
        )
    )
    return Reproduction(rows, figure(days), sensitivity=[left_open(days)])


def left_open(days: dict[str, skyhop.Table]) -> str:
    """Epoch and time step are not stated: the largest delays of the second half of the day, and of every fifth minute."""
    said = []
    for case in ("no cross-seam links", "cross-seam links"):
        t, delay = series(days[case], PAIRS[0])
        said.append(f"{case} {np.nanmax(delay):.1f}, {np.nanmax(delay[t >= 12]):.1f} and {np.nanmax(delay[::5]):.1f} ms")
    return (
        "Epoch and step are ours. Quito to London, largest delay of the day, of its second half, and of every fifth minute: "
        + "; ".join(said)
        + "."
    )


def series(table: skyhop.Table, pair: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    rows = (table["from"] == pair[0]) & (table["to"] == pair[1])
    return table["time_s"][rows] / 3600, table["delay_ms"][rows]


def links(table: skyhop.Table, pair: tuple[str, str]) -> np.ndarray:
    """Number of links of the path, where there is one."""
    rows = (table["from"] == pair[0]) & (table["to"] == pair[1]) & np.isfinite(table["delay_ms"])
    return table["satellites"][rows].astype(float) + 1


def regime(delay: np.ndarray) -> np.ndarray:
    """True if the seam lies between the two, by the median over half an hour."""
    width = 31
    padded = np.pad(delay, width // 2, mode="edge")
    smooth = np.array([np.nanmedian(padded[k : k + width]) for k in range(len(delay))])
    return (smooth > (np.nanmin(smooth) + np.nanmax(smooth)) / 2).astype(int)


def figure(days: dict[str, skyhop.Table]) -> plt.Figure:
    figure, axes = plt.subplots(3, 2, figsize=(11, 10), layout="constrained")
    for ax, preset in zip(axes[0], ("teledesic", "spaceway-ngso")):
        plot.map(skyhop.snapshot(preset, terminals=["quito", "london", "tokyo"]), ax=ax, legend=False)
        ax.set_title({"teledesic": "2 Teledesic", "spaceway-ngso": "2 Spaceway NGSO"}[preset])
    pens = [("0.1", "."), ("0.6", ".")]
    for row, cases in ((1, ("no cross-seam links", "cross-seam links")), (2, ("ascending", "descending"))):
        for ax, pair in zip(axes[row], PAIRS):
            for (color, marker), case in zip(pens, cases):
                t, delay = series(days[case], pair)
                ax.plot(t, delay, marker, ms=1.5, color=color, label=case)
            system = "Teledesic" if row == 1 else "Spaceway NGSO"
            ax.set(title=f"3 {pair[0].capitalize()} to {pair[1].capitalize()}, {system}", xlabel="time (h)")
            ax.set(ylabel="one-way delay (ms)", ylim=(0, None))
            ax.legend(frameon=False, fontsize=8, markerscale=4)
    return figure
