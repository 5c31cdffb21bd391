"""HT figures 1.2, 6.1, 6.2, 6.3 and table 6.1: Iridium and Teledesic on a map, with the links that are active.

Follows the table for the orbits and section 6.2 for the links; the numbers below are counted from a snapshot.
Differs: land is Natural Earth's, not Xerox PARC's, and the instant is t = 0.
Leaves out the thesis's own drawing of a constellation (figure 1.2 shows the same).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop
from skyhop import plot

SOURCE = "Henderson 1999, figures 6.2 and 6.3, table 6.1"
CLAIM = "Iridium has no links across its seam and none between planes near the poles; Teledesic has eight links a satellite"

COUNTS = "within planes all; between planes as many as are below 60 deg, two thirds of an orbit, give or take one a plane"
CONSTELLATIONS = {
    "iridium": {"preset": "iridium", "isl_latitude_limit": "60 deg"},
    "teledesic": {"preset": "teledesic", "isl_latitude_limit": "60 deg"},
}
ISLS = ["intra-plane", "inter-plane", "cross-seam"]
#: Table 6.1: altitude (km), planes, satellites per plane, separation of planes and at the seam (deg), ISLs, inclination, mask (deg).
TABLE = {"iridium": (780, 6, 11, 31.6, 22, 4, 86.4, 8.2), "teledesic": (1375, 12, 24, 15, 15, 8, 84.7, 40)}
#: Terminals whose satellites' elevations are looked at: a spiral of equal areas, by its golden angle.
WATCHERS = [
    {"lat": f"{lat:.3f} deg", "lon": f"{(137.508 * k + 180) % 360 - 180:.3f} deg", "antennas": "all"}
    for k, lat in enumerate(np.degrees(np.arcsin(1 - np.arange(1, 400, 2) / 200)))
]


def reproduce() -> Reproduction:
    figure, axes = plt.subplots(2, 1, figsize=(8, 9.6), layout="constrained")
    rows = []
    for ax, (name, constellation) in zip(axes, CONSTELLATIONS.items()):
        snapshot = skyhop.snapshot(constellation)
        nodes, links = snapshot.nodes, snapshot.links
        rows += table(name, nodes, links)
        up = links["up"] > 0
        for kind, least, most in BOUNDS[name]:
            count = int(np.sum(up & (links["kind"] == kind)))
            rows.append(Row(f"{name}, {kind} links up", "", 0 if most == 0 else None, count, least, most, COUNTS))
        high = np.abs(nodes["latitude_deg"]) > 60
        ends = high[links["a"]] | high[links["b"]]
        off = up & np.isin(links["kind"], ISLS[1:]) & ends
        rows.append(Row(f"{name}, links between planes beyond 60 deg", "", 0, int(off.sum()), 0, 0, "words: none"))
        plot.map(snapshot, ax=ax)
        ax.set_title(f"{name.capitalize()} at t = 0: links that are active")
    return Reproduction(rows, figure)


#: All links within planes are up; of those between planes the share of an orbit below 60 degrees, about 2/3.
BOUNDS = {
    "iridium": [("intra-plane", 66, 66), ("inter-plane", 28, 44), ("cross-seam", 0, 0)],
    "teledesic": [("intra-plane", 576, 576), ("inter-plane", 280, 400), ("cross-seam", 4, 18)],
}


def table(name: str, nodes: skyhop.Table, links: skyhop.Table) -> list[Row]:
    altitude, planes, per_plane, separation, seam, most, inclination, mask = TABLE[name]
    plane = nodes["plane"]
    in_plane = [np.flatnonzero(plane == p) for p in np.unique(plane[np.isfinite(plane)])]
    isls = np.isin(links["kind"], ISLS)
    degree = sum(np.bincount(links[end][isls], minlength=len(nodes)) for end in "ab")
    spacing = nodes_apart(nodes, in_plane)
    return [
        Row(
            f"{name}, altitude", "km", altitude, float(np.median(nodes["altitude_km"])), altitude - 0.1, altitude + 0.1,
            "the table's digits"
        ),
        Row(f"{name}, planes", "", planes, len(in_plane), planes, planes, "a count"),
        Row(f"{name}, satellites per plane", "", per_plane, len(in_plane[0]), per_plane, per_plane, "a count"),
        Row(f"{name}, plane separation", "deg", separation, spacing, separation - 0.05, separation + 0.05, "the table's digits"),
        Row(
            f"{name}, seam separation", "deg", seam, 180 - spacing * (planes - 1), seam - 0.1, seam + 0.1,
            "the table's digits, five times over"
        ),
        Row(f"{name}, most ISLs of a satellite", "", most, int(degree.max()), most, most, "a count"),
        Row(
            f"{name}, inclination", "deg", inclination, tilt(nodes, in_plane), inclination - 0.05, inclination + 0.05,
            "the table's digits"
        ),
        Row(
            f"{name}, lowest elevation of a satellite in use", "deg", mask, lowest(name), mask, mask + 0.5,
            "no satellite is used below it; of 200 terminals with all they see, one is within half a degree"
        ),
    ]


def tilt(nodes: skyhop.Table, in_plane: list[np.ndarray]) -> float:
    """Inclination of plane 0, deg: its normal's angle to the Earth's axis."""
    normal = np.cross(*places(nodes)[[in_plane[0][0], in_plane[0][len(in_plane[0]) // 4]]])
    return float(np.degrees(np.arccos(normal[2] / np.linalg.norm(normal))))


def lowest(name: str) -> float:
    """Lowest elevation at which a terminal with antennas for all has a link to a satellite, deg."""
    snapshot = skyhop.snapshot(CONSTELLATIONS[name], terminals=WATCHERS)
    nodes, links = snapshot.nodes, snapshot.links
    radius = 6371.0 + nodes["altitude_km"].astype(float)
    radius[~np.isfinite(radius)] = 6371.0
    place = places(nodes) * radius[:, None]
    up = (links["up"] > 0) & (links["kind"] == "gsl")
    ground, there = links["a"][up], links["b"][up]
    swap = radius[ground] > radius[there]
    ground, there = np.where(swap, there, ground), np.where(swap, ground, there)
    sight = place[there] - place[ground]
    sine = np.sum(sight * place[ground], axis=1) / np.linalg.norm(sight, axis=1) / np.linalg.norm(place[ground], axis=1)
    return float(np.degrees(np.arcsin(sine.min())))


def places(nodes: skyhop.Table) -> np.ndarray:
    """Directions of the nodes from the centre of the Earth."""
    lat, lon = np.radians(nodes["latitude_deg"]), np.radians(nodes["longitude_deg"])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def nodes_apart(nodes: skyhop.Table, in_plane: list[np.ndarray]) -> float:
    """Degrees between the ascending nodes of planes 0 and 1, from the planes' normals."""
    place = places(nodes)
    normals = [np.cross(place[rows[0]], place[rows[len(rows) // 4]]) for rows in in_plane[:2]]
    first, second = (np.degrees(np.arctan2(n[1], n[0])) for n in normals)
    return float((second - first) % 360)
