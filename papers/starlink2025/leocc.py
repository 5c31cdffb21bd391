"""A measured Starlink trace compared with a simulated bent pipe.

Follows LeoCC's example trace (SpaceNetLab, 2025): one-way delay over two minutes, a value for each 10 ms.
Differs: the place and time of the trace are not stated, so the bent pipe is one of the same kind: Starlink's
catalogued satellites, a terminal in Berlin, its gateway in Frankfurt. Leaves out the trace's bandwidth.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "LeoCC's example trace, and Starlink's satellites of October 2025"
CLAIM = "Propagation is a minimum delay of a few ms that changes in steps every 15 s; the delay above it has other causes"

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TRACE = SHARED / "starlink-leocc-example" / "delay_example.txt"
ELEMENTS = SHARED / "tle" / "starlink.tle"
PERIOD = 15.0


def reproduce() -> Reproduction:
    if not (TRACE.exists() and ELEMENTS.exists()):
        return Reproduction([], None, [f"Skipped: {TRACE} and {ELEMENTS} are not both there."])
    measured = np.loadtxt(TRACE)
    t_measured = np.arange(len(measured)) * 0.01
    pipe = {"tle": str(ELEMENTS), "isls": False, "elevation_mask": "25 deg", "handover": "synchronous", "update_interval": "15 s"}
    # The gateway uses every satellite in view; the terminal uses a single one, chosen anew every 15 s.
    gateway = {"name": "frankfurt", "lat": "50.11 deg", "lon": "8.68 deg", "gateway": True, "antennas": "all"}
    path = skyhop.delay([("berlin", gateway)], pipe, duration="120 s", step="0.1 s", antennas=1)
    t, delay = path["time_s"], path["delay_ms"]
    floor = lowest(t_measured, measured)
    rows = [
        Row(
            "least delay, trace and ours", "ms", float(np.percentile(measured, 1)), float(np.nanmin(delay)), 7, 9, "an eighth",
            of="trace", known="two slant ranges of some 600 to 1200 km take 4 to 8 ms; the trace adds frames, scheduling and the way "
            "from the gateway on"
        ),
        Row(
            "range of the floor over two minutes", "ms", float(np.ptp(floor)), float(np.nanmax(delay) - np.nanmin(delay)), 1.5, 6,
            "half to twice: another place and another minute",
            "1.1 ms: another place and another minute, of which the trace tells nothing", "trace"
        ),
        Row(
            "steps at the best phase of 15 s over those between", "", ratio(t_measured, measured), ratio(t, delay), 1.5, 6,
            "half to twice: other satellites", of="trace"
        ),
        Row(
            "median above the least", "ms", float(np.median(measured) - np.percentile(measured, 1)),
            float(np.nanmedian(delay) - np.nanmin(delay)), 1.5, 6, "half to twice", of="trace",
            known="frames of Starlink's uplink and queues, which propagation does not have"
        ),
    ]
    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    ax.plot(t_measured, measured, ".", ms=1, color="0.75", label="trace")
    ax.plot(np.arange(len(floor)) + 0.5, floor, drawstyle="steps-mid", color="0.35", lw=1, label="trace, lowest tenth of a second")
    ax.plot(t, delay, color="black", lw=1.5, label="bent pipe Berlin to Frankfurt, propagation")
    ax.set(xlabel="time (s)", ylabel="one-way delay (ms)", ylim=(0, 25), xlim=(0, 120))
    ax.set_xticks(np.arange(0, 121, PERIOD))
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    matches = "Matches: a floor of some ms, constant within ms between reconfigurations, and steps with a period of 15 s."
    lacks = "Does not: the trace is higher by 3 to 5 ms and spread by as much again; ours has neither frames nor queues nor loss."
    return Reproduction(rows, figure, [matches, lacks])


def lowest(t: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """The lowest tenth of the values in each second."""
    return np.array([np.percentile(delay[(t >= k) & (t < k + 1)], 10) for k in range(int(t[-1]))])


def ratio(t: np.ndarray, delay: np.ndarray) -> float:
    """Ratio of the median's steps at the best phase of the period to the average steps."""
    means = []
    for phase in np.arange(0, PERIOD, 0.5):
        marks = np.arange(phase + PERIOD, t[-1] - 3, PERIOD) if phase < 3 else np.arange(phase, t[-1] - 3, PERIOD)
        before = [np.nanmedian(delay[(t >= m - 2) & (t < m)]) for m in marks]
        after = [np.nanmedian(delay[(t >= m) & (t < m + 2)]) for m in marks]
        means.append(np.mean(np.abs(np.subtract(after, before))))
    return float(np.max(means) / np.mean(means))
