"""HT figure 6.19: crossings of Teledesic's counter-rotating planes.

Follows section 6.5.2: north of the crossing, satellites of the two planes along the seam have changed sides.
Differs: from the positions of the satellites, where the thesis has a drawing.
Leaves out other inclinations, which figure 6.20 has.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 6.19 and section 6.5.2"
CLAIM = "The planes on both sides of the seam cross at about 54 degrees, all others much nearer to the poles"

#: The planes meet north of the equator on this side of the Earth, and south of it on the other.
EDGES_DEG = (122.5, 222.5)


def reproduce() -> Reproduction:
    nodes = skyhop.snapshot("teledesic").nodes
    rows = [
        Row(
            "latitude at which planes 0 and 11 cross", "deg", 54, crossing_deg(nodes, 0, 11), 53, 55,
            "about: one degree, which is half a degree more than the digits"
        )
    ]
    beside = crossing_deg(nodes, 0, 1)
    remark = f"Planes that turn the same way cross beside the pole: 0 and 1 at {beside:.2f} degrees, their inclination being 84.7."
    return Reproduction(rows, figure(nodes), [remark])


def place(nodes: skyhop.Table, plane: int) -> np.ndarray:
    """The satellites of a plane in order, as unit vectors."""
    members = np.flatnonzero(nodes["plane"] == plane)
    members = members[np.argsort(nodes["slot"][members])]
    latitude, longitude = (np.radians(nodes[name][members]) for name in ("latitude_deg", "longitude_deg"))
    return np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])


def crossing_deg(nodes: skyhop.Table, first: int, second: int) -> float:
    """The latitude of the line of intersection of two planes."""
    a, b = (np.cross(of[0], of[len(of) // 4]) for of in (place(nodes, first), place(nodes, second)))
    both = np.cross(a, b)
    return float(np.degrees(np.arctan2(abs(both[2]), np.hypot(both[0], both[1]))))


def figure(nodes: skyhop.Table) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    turn = np.linspace(0, 2 * np.pi, 721)
    for plane, (line, marker, size) in {0: ("k-", "ko", 5), 1: ("k:", "", 0), 10: ("k:", "", 0), 11: ("k--", "ks", 5)}.items():
        of = place(nodes, plane)
        ring = np.outer(np.cos(turn), of[0]) + np.outer(np.sin(turn), of[len(of) // 4])
        ax.plot(*degrees(ring), line, lw=1, label=f"plane {plane}" if marker else None)
        if marker:
            ax.plot(*degrees(of), marker, ms=size)
    latitude = crossing_deg(nodes, 0, 11)
    ax.axhline(latitude, color="0.5", lw=0.8)
    ax.text(EDGES_DEG[0] + 2, latitude + 1, f"{latitude:.1f}°", color="0.3")
    ax.plot([], [], "k:", lw=1, label="their neighbours")
    ax.set(xlim=EDGES_DEG, ylim=(-20, 90), xlabel="longitude at t = 0 (deg)", ylabel="latitude (deg)")
    ax.set_title("Teledesic's planes along the seam")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def degrees(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Longitude and latitude, with a gap at the edge of the map."""
    longitude = np.degrees(np.arctan2(points[:, 1], points[:, 0])) % 360
    jumps = np.abs(np.diff(longitude, prepend=longitude[0])) > 180
    return np.where(jumps, np.nan, longitude), np.degrees(np.arcsin(points[:, 2]))
