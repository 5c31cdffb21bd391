"""HT figure 6.20: the less polar the orbits, the lower the latitude at which counter-rotating planes cross.

Follows section 6.5.2: planes 15 degrees apart; the formula of the thesis as a line, tan(latitude) = tan(i) sin(spacing / 2).
Differs: the points are from the positions of satellites of shells with these inclinations.
Leaves out other spacings.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 6.20 and section 6.5.2"
CLAIM = (
    "At Teledesic's inclination of 84.7 degrees the planes along the seam cross at a latitude of about 54 degrees; at smaller "
    "inclinations they cross at lower latitudes"
)

SPACING_DEG = 15
INCLINATIONS_DEG = np.append(np.arange(80, 90, 0.5), 84.7)


def reproduce() -> Reproduction:
    order = np.argsort(INCLINATIONS_DEG)
    inclination = INCLINATIONS_DEG[order]
    found = np.array([crossing_deg(value) for value in inclination])
    apart = np.abs(found - formula_deg(inclination))
    at = float(found[inclination == 84.7][0])
    rows = [
        Row("crossing at an inclination of 84.7 degrees", "deg", 54, at, 53, 55, "about: one degree, as figure 6.19"),
        Row(
            "satellites against the formula, largest difference", "deg", 0, float(apart.max()), 0, 1e-6, "the same geometry: rounding",
            of="formula"
        ),
    ]
    return Reproduction(rows, figure(inclination, found))


def formula_deg(inclination_deg: np.ndarray) -> np.ndarray:
    return np.degrees(np.arctan(np.tan(np.radians(inclination_deg)) * np.sin(np.radians(SPACING_DEG / 2))))


def crossing_deg(inclination_deg: float) -> float:
    """Crossing of the first and the last of twelve planes in half a circle."""
    shell = {
        "planes": 12,
        "satellites_per_plane": 24,
        "altitude": "1375 km",
        "inclination": f"{inclination_deg} deg",
        "raan_spacing": f"{SPACING_DEG} deg",
    }
    nodes = skyhop.snapshot({"shell": shell, "elevation_mask": "40 deg"}).nodes
    normals = []
    for plane in (0, 11):
        members = (nodes["plane"] == plane) & ((nodes["slot"] == 0) | (nodes["slot"] == 6))
        latitude, longitude = (np.radians(nodes[name][members]) for name in ("latitude_deg", "longitude_deg"))
        a, b = np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])
        normals.append(np.cross(a, b))
    both = np.cross(*normals)
    return float(np.degrees(np.arctan2(abs(both[2]), np.hypot(both[0], both[1]))))


def figure(inclination: np.ndarray, found: np.ndarray) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    line = np.linspace(80, 89.9, 200)
    ax.plot(line, formula_deg(line), color="0.4", lw=1, label="tan(latitude) = tan(inclination) sin(7.5°)")
    ax.plot(inclination, found, "ko", ms=4, label="skyhop's satellites")
    ax.axvline(84.7, color="0.5", ls=":", lw=1)
    ax.text(84.75, 38, "Teledesic", color="0.3")
    ax.set(xlabel="inclination (deg)", ylabel="latitude of the crossing (deg)", ylim=(35, 90), xlim=(80, 90))
    ax.set_title("Counter-rotating planes 15 degrees apart")
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    return figure
