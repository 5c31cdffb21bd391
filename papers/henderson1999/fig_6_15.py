"""HT figure 6.15: cells of roughly equal size on the Earth, in 128 bands.

Follows sections 6.4.2 and 6.6.1: bands of 256 - 4k cells, the number with which cells are at most as wide as at the equator.
Differs: the bands beside the caps have 12 cells instead of 16, which the thesis's total requires.
Leaves out addresses (figure 6.25).
"""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 6.15 and section 6.6.1"
CLAIM = "21,352 trapezoids, all but those beside the poles 146.3 to 156.5 km wide and 156.5 km high"

DIGIT = "half of the last digit"
ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "skyhop-routing", "--example", "cells"]
#: "All latitudes except those very near the poles": beyond this latitude a difference of four cells is too large.
NEAR_POLE_DEG = 84.0


def reproduce() -> Reproduction:
    text = subprocess.run(COMMAND, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    read = list(csv.DictReader(io.StringIO(text)))
    bands = {name: np.array([float(line[name]) for line in read]) for name in read[0]}
    is_cell = bands["cells"] > 1
    furthest = np.maximum(np.abs(bands["south_deg"]), np.abs(bands["north_deg"]))
    wide = bands["base_km"][is_cell & (furthest < NEAR_POLE_DEG)]
    rows = [
        Row("cells between the caps", "cells", 21352, float(bands["cells"][is_cell].sum()), 21352, 21352, "a count"),
        Row("points of the grid", "points", 32768, float(256 * len(read)), 32768, 32768, "a count"),
        Row("base, longest", "km", 156.5, float(wide.max()), 156.45, 156.55, DIGIT),
        Row("base, shortest", "km", 146.3, float(wide.min()), 146.25, 146.35, DIGIT),
        Row("height", "km", 156.5, float(bands["height_km"][0]), 156.45, 156.55, DIGIT),
    ]
    beside = bands["base_km"][1]
    remark = f"By the rule as printed the bands beside the caps have 16 cells, 21,360 in all; with 12 ({beside:.1f} km) 21,352."
    return Reproduction(rows, figure(bands), [remark])


def figure(bands: dict[str, np.ndarray]) -> plt.Figure:
    figure, (globe, ax) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", width_ratios=[1, 1.2])
    draw_globe(globe, bands)
    middle = (bands["south_deg"] + bands["north_deg"]) / 2
    inside = bands["cells"] > 1
    ax.step(middle[inside], bands["base_km"][inside], "k", where="mid", lw=1, label="base (km)")
    ax.axhline(bands["height_km"][0], color="0.5", ls=":", lw=1, label="height (km)")
    ax.set(xlabel="latitude (deg)", ylabel="size of a cell (km)", ylim=(115, 170), xlim=(-90, 90))
    ax.set_title("21,352 cells")
    ax.plot([], [], "--", color="0.4", lw=1, label="cells in the band")
    ax.legend(frameon=False, fontsize=8, loc="lower center")
    count = ax.twinx()
    count.step(middle, bands["cells"], "--", color="0.4", where="mid", lw=1)
    count.set(ylabel="cells in the band", ylim=(0, 270))
    return figure


def draw_globe(ax: plt.Axes, bands: dict[str, np.ndarray]) -> None:
    """Draws all cells with a corner on the visible side, seen from 30 degrees north."""
    tilt = np.radians(30)

    def line(latitude: np.ndarray, longitude: np.ndarray) -> None:
        latitude, longitude = np.broadcast_arrays(np.radians(latitude), np.radians(longitude))
        x, y, z = np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)
        up, towards = z * np.cos(tilt) - x * np.sin(tilt), z * np.sin(tilt) + x * np.cos(tilt)
        ax.plot(np.where(towards > 0, y, np.nan), np.where(towards > 0, up, np.nan), color="0.25", lw=0.25)

    around = np.linspace(-180, 180, 361)
    for south, north, cells in zip(bands["south_deg"], bands["north_deg"], bands["cells"]):
        line(np.array(south), around)
        if cells > 1:
            west = np.arange(cells) * 360 / cells
            # One line with gaps per band is drawn much faster than one line per cell.
            edges = np.repeat(west, 3)
            line(np.tile([south, north, np.nan], int(cells)), edges)
    ax.set(aspect="equal", xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), title="from 30 degrees north")
    ax.axis("off")
