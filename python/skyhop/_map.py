"""The world as a background, and a network of satellites on it.

Follows the snapshots of HT chapter 6 and `skyhop map`: an equirectangular map, links along the great circles below them.
Differs: links that would run around the edge of the map are cut there.
Leaves out other projections; `skyhop map` writes SVG and PNG without Python.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

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
        label: str | None = f"{name} links"
        for row in rows:
            _line(ax, lon, lat, links["a"][row], links["b"][row], color=color, lw=width, ls=dash, zorder=1, label=label)
            label = None
    for rows, marker, heading in [
        ((kind == "satellite") & (nodes["northbound"] > 0), "^", "northbound"),
        ((kind == "satellite") & ~(nodes["northbound"] > 0), "v", "southbound"),
    ]:
        if rows.any():
            ax.scatter(lon[rows], lat[rows], s=14, marker=marker, color="black", lw=0, zorder=3, label=heading)
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


def _line(ax: Axes, lon: np.ndarray, lat: np.ndarray, a: int, b: int, **style: Any) -> None:
    ways = great_circle(lon[a], lat[a], lon[b], lat[b])
    for way in ways:
        ax.plot(way[:, 0], way[:, 1], **style)
        style = {**style, "label": None}


def great_circle(lon_a: float, lat_a: float, lon_b: float, lat_b: float) -> list[np.ndarray]:
    """The shorter great circle between two places in degrees, in pieces that end at the edge of the map."""
    a, b = (_unit(lon, lat) for lon, lat in ((lon_a, lat_a), (lon_b, lat_b)))
    angle = np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)
    # A point each two degrees; near a pole longitude turns within a few.
    share = np.linspace(0, 1, max(2, int(np.ceil(np.degrees(angle) / 2)) + 1))[:, None]
    if np.sin(angle) < 1e-9:
        points = np.where(share < 0.5, a, b)
    else:
        points = (np.sin((1 - share) * angle) * a + np.sin(share * angle) * b) / np.sin(angle)
    lon = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    lat = np.degrees(np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1])))
    pieces: list[np.ndarray] = []
    way = [(lon[0], lat[0])]
    for k in range(1, len(lon)):
        step = lon[k] - lon[k - 1]
        if abs(step) > 180:
            # The short way round crosses the edge; both pieces go there.
            edge = 180.0 if step < 0 else -180.0
            turned = lon[k] + (360 if step < 0 else -360)
            at = lat[k - 1] + (lat[k] - lat[k - 1]) * (edge - lon[k - 1]) / (turned - lon[k - 1])
            pieces.append(np.array([*way, (edge, at)]))
            way = [(-edge, at)]
        way.append((lon[k], lat[k]))
    return [*pieces, np.array(way)]


def _unit(lon: float, lat: float) -> np.ndarray:
    lon, lat = np.radians(lon), np.radians(lat)
    return np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
