"""HT figures 6.4 to 6.7, 6.11 and 6.12: three times 10,000 pings between random places, by least delay and by fewest hops.

Follows section 6.3: Teledesic and Iridium, both with links across the seam, the same pairs for both metrics.
Differs: a pair is sent at a random instant, and terminals stay for a few updates, so that some are near a handover.
Leaves out figure 6.13, a drawing of two routes with equally many hops.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figures 6.4 to 6.7, 6.11, 6.12 and section 6.3"
CLAIM = "Delay grows with distance, stays below 100 ms, and fewest hops costs less than 10 ms on average"

TELEDESIC = {"preset": "teledesic", "isl_latitude_limit": "60 deg"}
IRIDIUM = {"preset": "iridium", "isl_latitude_limit": "60 deg", "cross_seam_isls": True}
#: Light along the great circle, the lower limit of a path.
C_KM_MS = 299.792458


def reproduce() -> Reproduction:
    teledesic, iridium = (surveys(c) for c in (TELEDESIC, IRIDIUM))
    km, least = teledesic["separation_km"], teledesic["least_delay_ms"]
    there = np.isfinite(least)
    km, least = km[there], least[there]
    spread = [np.ptp(least[(km > low) & (km <= low + 500)]) for low in range(5000, 15000, 500)]
    slow = np.mean(least > 100) * 100
    rows = [
        Row(
            "Teledesic, pings above 100 ms", "%", 1, slow, 0.15, 1,
            "fewer than 1 %; fewer than 15 in 10,000 would be a system without detours at the poles"
        ),
        Row("Teledesic, spread of delay at one distance", "ms", 30, float(np.median(spread)), 20, 40, "roughly 30: a third"),
        Row(
            "Teledesic, least delay over light on the ground", "", None, float(np.min(least / (km / C_KM_MS))), 1.05, 1.4,
            "drawn: near its line; 1375 km up and down is a twentieth of the longest way"
        ),
        penalty("Teledesic", teledesic, 1.5),
        penalty("Iridium", iridium, 1.1),
        Row(
            "penalty of Iridium over that of Teledesic, largest", "", None, largest(iridium) / largest(teledesic), 0.15, 0.95,
            "words: not as large, of three seeds of 10,000 pairs"
        ),
    ]
    return Reproduction(rows, figure(teledesic, iridium))


def surveys(constellation: dict) -> dict[str, np.ndarray]:
    """Pairs of three seeds: the largest penalty depends on a single pair."""
    tables = [skyhop.survey(constellation, "shortest", seed=seed) for seed in (1, 2, 3)]
    return {name: np.concatenate([t[name] for t in tables]) for name in ("separation_km", "least_delay_ms", "fewest_hops_delay_ms")}


def extra(table: dict[str, np.ndarray]) -> np.ndarray:
    return table["fewest_hops_delay_ms"] - table["least_delay_ms"]


def largest(table: dict[str, np.ndarray]) -> float:
    return float(np.nanmax(extra(table)))


def penalty(name: str, table: dict[str, np.ndarray], low: float) -> Row:
    mean = float(np.nanmean(extra(table)))
    return Row(
        f"{name}, fewest hops over least delay, mean", "ms", 10, mean, low, 10, "generally below 10 ms; above the hops' own spread of a ms"
    )


def figure(teledesic: dict[str, np.ndarray], iridium: dict[str, np.ndarray]) -> plt.Figure:
    figure, axes = plt.subplots(3, 2, figsize=(9, 10), layout="constrained")
    scatter(axes[0, 0], teledesic, "least_delay_ms", "6.4 Teledesic, least delay")
    ax = axes[0, 1]
    ax.hist(teledesic["least_delay_ms"], bins=np.arange(0, 141, 4), color="0.5")
    ax.axvline(100, color="black", ls=":", lw=1)
    ax.set(title="6.5 the same, counted", xlabel="one-way delay (ms)", ylabel="pings")
    scatter(axes[1, 0], teledesic, "fewest_hops_delay_ms", "6.6 Teledesic, fewest hops")
    scatter(axes[1, 1], iridium, "least_delay_ms", "6.7 Iridium, least delay")
    bins(axes[2, 0], teledesic, "6.11 Teledesic: fewest hops over least delay")
    bins(axes[2, 1], iridium, "6.12 Iridium: fewest hops over least delay")
    return figure


def scatter(ax: plt.Axes, table: dict[str, np.ndarray], column: str, title: str) -> None:
    ax.plot(table["separation_km"] / 1e3, table[column], ".", ms=1.5, color="0.2")
    ax.plot([0, 20], [0, 20_000 / C_KM_MS], "k--", lw=1, label="light along the ground")
    ax.set(title=title, xlabel="separation (1000 km)", ylabel="one-way delay (ms)", ylim=(0, 160), xlim=(0, 20))
    ax.legend(frameon=False, fontsize=8)


def bins(ax: plt.Axes, table: dict[str, np.ndarray], title: str) -> None:
    """Mean with one standard deviation and maximum for each 1000 km."""
    place = (table["separation_km"] // 1000).astype(int)
    values = extra(table)
    groups = [values[(place == k) & np.isfinite(values)] for k in range(20)]
    x = np.arange(20) + 0.5
    mean, spread = ([f(g) if len(g) else np.nan for g in groups] for f in (np.mean, np.std))
    ax.errorbar(x, mean, spread, fmt="ko", ms=3, lw=0.8, capsize=2, label="mean, one standard deviation")
    ax.plot(x, [g.max() if len(g) else np.nan for g in groups], "x", color="0.4", label="largest")
    ax.set(title=title, xlabel="separation (1000 km)", ylabel="difference (ms)")
    ax.legend(frameon=False, fontsize=8)
