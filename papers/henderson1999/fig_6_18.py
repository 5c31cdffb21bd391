"""HT figure 6.18: the Iridium satellites around the pole, and those of the polar region.

Follows section 6.5.2: POLAR satellites have lost a link to another plane, POLAR_BORDER ones are beside those in their plane.
Differs: counted every four minutes for two hours, from the active links instead of by the protocol itself.
Leaves out link states, whose flooding the regions limit.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 6.18 and section 6.5.2"
CLAIM = "The polar regions hold about 36 of Iridium's 66 satellites and 100 of Teledesic's 288"

IRIDIUM = {"preset": "iridium", "isl_latitude_limit": "70 deg"}
TELEDESIC = {"preset": "teledesic", "isl_latitude_limit": "70 deg"}
MINUTES = range(0, 120, 4)
KNOWN = (
    "by the thesis's definition a satellite is POLAR already when a neighbour is beyond the limit, and with the limit of 70 "
    "degrees that its states 45 and 51 (figure 6.24) confirm there are more; its numbers come out at about 75 to 80 degrees"
)


def reproduce() -> Reproduction:
    counted = {}
    for name, constellation in [("Iridium", IRIDIUM), ("Teledesic", TELEDESIC)]:
        shots = [skyhop.snapshot(constellation, f"{minute} min") for minute in MINUTES]
        counted[name] = [sum(np.count_nonzero(part) for part in regions(shot)) for shot in shots]
    rows = [
        Row("Iridium, satellites in both polar regions, mean", "", 36, float(np.mean(counted["Iridium"])), 32, 40, "about: a tenth", KNOWN),
        Row(
            "Teledesic, satellites in both polar regions, mean", "", 100, float(np.mean(counted["Teledesic"])), 90, 110,
            "about: a tenth", KNOWN
        ),
    ]
    ranges = "; ".join(f"{name} {min(of)} to {max(of)}" for name, of in counted.items())
    return Reproduction(rows, figure(skyhop.snapshot(IRIDIUM)), [f"Least and most at {len(MINUTES)} instants: {ranges}."])


def regions(shot: skyhop.Snapshot) -> tuple[np.ndarray, np.ndarray]:
    """The POLAR and the POLAR_BORDER satellites."""
    plane, slot = shot.nodes["plane"], shot.nodes["slot"]
    off = (shot.links["kind"] == "inter-plane") & (shot.links["up"] == 0)
    polar = np.zeros(len(plane), dtype=bool)
    polar[shot.links["a"][off]] = polar[shot.links["b"][off]] = True
    border = np.zeros_like(polar)
    for number in np.unique(plane):
        members = np.flatnonzero(plane == number)
        members = members[np.argsort(slot[members])]
        here = polar[members]
        border[members] = ~here & (np.roll(here, 1) | np.roll(here, -1))
    return polar, border


def figure(shot: skyhop.Snapshot) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(6, 6), layout="constrained", subplot_kw={"projection": "polar"})
    longitude, away = np.radians(shot.nodes["longitude_deg"]), 90 - shot.nodes["latitude_deg"]
    north = away < 90
    # Straight lines on the map instead of spirals around the pole.
    x, y = away * np.cos(longitude), away * np.sin(longitude)
    pens = {"intra-plane": "0.6", "inter-plane": "black"}
    for a, b, kind, up in zip(*(shot.links[name] for name in ("a", "b", "kind", "up"))):
        if up and kind in pens and north[a] and north[b]:
            along = np.linspace(0, 1, 20)
            east, up_y = x[a] + along * (x[b] - x[a]), y[a] + along * (y[b] - y[a])
            ax.plot(np.arctan2(up_y, east), np.hypot(east, up_y), color=pens[kind], lw=1)
    polar, border = regions(shot)
    groups = [("POLAR", polar, "ks"), ("POLAR_BORDER", border, "k^"), ("LOW_LATITUDE", ~(polar | border), "wo")]
    for name, group, marker in groups:
        ax.plot(longitude[group & north], away[group & north], marker, mec="black", ms=7, label=name)
    ax.plot([], [], color="black", label="link to another plane")
    ax.plot([], [], color="0.6", label="link within the plane")
    ax.set(ylim=(0, 90), yticks=[20, 30, 60], yticklabels=["70°", "60°", "30°"], xticklabels=[])
    ax.set_title("Iridium above the North pole")
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.1, -0.1))
    return figure
