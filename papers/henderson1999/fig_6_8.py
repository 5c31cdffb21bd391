"""HT figures 6.8 and 6.9: one-way delay between New York and San Francisco over Teledesic, for a day.

Follows section 6.3.1: shortest paths by delay, links across the seam, handovers each 10 s at most.
Differs: propagation delay alone; a ping's transmission takes microseconds at the rates of the thesis.
Leaves out the epoch, which the thesis does not give: the shape is the same on any day, the instants are not.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figures 6.8 and 6.9 and section 6.3.1"
CLAIM = "Delay varies two- to threefold over a day, smoothly between handovers and in steps at them"

TELEDESIC = {"preset": "teledesic", "isl_latitude_limit": "70 deg"}
PAIR = ("new york", "san francisco")


def reproduce() -> Reproduction:
    day = skyhop.delay([PAIR], TELEDESIC, duration="24 h", step="60 s", antennas=1)
    fine = skyhop.delay([PAIR], TELEDESIC, duration="1 h", step="1 s", antennas=1)
    delay = day["delay_ms"]
    steps = np.abs(np.diff(fine["delay_ms"]))
    same = fine["path"][1:] == fine["path"][:-1]
    rows = [
        Row("least delay", "ms", 23, float(np.nanmin(delay)), 21, 25, "a tenth: read from a figure; the epoch is not given"),
        Row("largest delay", "ms", 60, float(np.nanmax(delay)), 54, 66, "a tenth: read from a figure; the epoch is not given"),
        Row(
            "step at a handover, 99th percentile", "ms", 8, float(np.nanpercentile(steps[~same], 99)), 4, 12,
            "as large as 8 ms in the hour that is drawn: half of it either way"
        ),
        Row(
            "change in a second without a handover, largest", "ms", 0, float(np.nanmax(steps[same])), 0, 0.1,
            "words: smooth; a satellite moves 0.02 ms a second"
        ),
    ]
    figure, axes = plt.subplots(2, 1, figsize=(8, 6), layout="constrained")
    axes[0].plot(day["time_s"] / 3600, delay, ".", ms=2, color="0.2")
    axes[0].set(title="6.8 New York to San Francisco over Teledesic", xlabel="time (h)", ylabel="one-way delay (ms)")
    axes[1].plot(fine["time_s"] / 60, fine["delay_ms"], ".", ms=1.5, color="0.2")
    axes[1].set(title="6.9 the first hour, a ping a second", xlabel="time (min)", ylabel="one-way delay (ms)")
    for ax in axes:
        ax.set_ylim(0, 70)
    return Reproduction(rows, figure)
