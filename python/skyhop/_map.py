"""The world as a background, and a network of satellites on it.

Follows the snapshots of HT chapter 6: an equirectangular map, links as straight lines on it.
Differs: links that would run around the edge of the map are cut there.
Leaves out other projections; `skyhop map` writes SVG and PNG without Python.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._space import Snapshot

_LINKS = {"intra-plane": ("0.55", 0.7, "-"), "inter-plane": ("0.2", 0.7, "-"), "cross-seam": ("0.2", 0.9, ":")}


def coastlines() -> list[np.ndarray]:
    """Rings of land: arrays of (longitude, latitude) in degrees."""
    rings = []
    for line in resources.files("skyhop").joinpath("land.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            steps = np.array([int(number) for number in line.split()], dtype=float).reshape(-1, 2)
            ring = np.cumsum(steps, axis=0) / 10
            rings.append(np.vstack([ring, ring[:1]]))
    return rings


def world(ax: Axes) -> Axes:
    """Draws land and sets the axes to longitude and latitude."""
    from matplotlib.collections import PolyCollection

    ax.add_collection(PolyCollection(coastlines(), facecolors="0.92", edgecolors="0.7", linewidths=0.4, zorder=0))
    ax.set_xlim(-180, 180)
    ax.set_ylim(-90, 90)
    ax.set_xticks(range(-180, 181, 60))
    ax.set_yticks(range(-90, 91, 30))
    ax.set_aspect("equal")
    ax.set_xlabel("longitude (deg east)")
    ax.set_ylabel("latitude (deg north)")
    return ax


def draw(snapshot: Snapshot, ax: Axes, path: list[str] | None, legend: bool) -> Axes:
    world(ax)
    nodes, links = snapshot.nodes, snapshot.links
    lon, lat, kind = nodes["longitude_deg"], nodes["latitude_deg"], nodes["kind"]
    for name, (color, width, dash) in _LINKS.items():
        rows = np.flatnonzero((links["kind"] == name) & (links["up"] > 0))
        label = f"{name} links"
        for row in rows:
            _line(ax, lon, lat, links["a"][row], links["b"][row], color=color, lw=width, ls=dash, zorder=1, label=label)
            label = None
    for rows, marker, label in [
        ((kind == "satellite") & (nodes["northbound"] > 0), "^", "northbound"),
        ((kind == "satellite") & ~(nodes["northbound"] > 0), "v", "southbound"),
    ]:
        if rows.any():
            ax.scatter(lon[rows], lat[rows], s=14, marker=marker, color="black", lw=0, zorder=3, label=label)
    ground = kind != "satellite"
    ax.scatter(lon[ground], lat[ground], s=30, marker="s", color="#d95f02", zorder=4)
    for name, x, y in zip(nodes["name"][ground], lon[ground], lat[ground]):
        ax.annotate(name, (x, y), (4, 4), textcoords="offset points", fontsize=8, zorder=5)
    if path:
        index = {name: row for row, name in enumerate(nodes["name"])}
        for a, b in zip(path, path[1:]):
            _line(ax, lon, lat, index[a], index[b], color="#d95f02", lw=2, zorder=2)
    if legend:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=5, frameon=False, fontsize=8)
    return ax


def _line(ax: Axes, lon: np.ndarray, lat: np.ndarray, a: int, b: int, **style: object) -> None:
    x0, x1, y0, y1 = lon[a], lon[b], lat[a], lat[b]
    if abs(x1 - x0) <= 180:
        ax.plot([x0, x1], [y0, y1], **style)
        return
    # The short way round crosses the edge; both parts go there.
    turn = 360 if x1 < x0 else -360
    ax.plot([x0, x1 + turn], [y0, y1], **style)
    ax.plot([x0 - turn, x1], [y0, y1], **{**style, "label": None})
