#!/usr/bin/env python3
"""Writes `python/skyhop/land.txt`, the coastlines of skyhop's maps, from Natural Earth's land as TopoJSON.

Follows the TopoJSON specification, section 2.1: delta-encoded, quantised arcs; a negative index is an arc backwards.
Differs from drawing TopoJSON: rings are cut at the date line and closed along it, so each is a plain polygon.
Leaves out downloading. The file is `package/land-110m.json` of the npm package world-atlas 2.0.2:

    tools/coastlines.py land-110m.json > python/skyhop/land.txt
"""

import json
import sys

HEADING = """\
# Land: Natural Earth 1:110m, public domain (naturalearthdata.com), out of world-atlas 2.0.2 by tools/coastlines.py.
# A line is a closed ring: pairs of longitude and latitude in tenths of a degree, the first absolute, each of the others
# relative to the one before; the last is not the first again. Fill even-odd. Sides along 180 deg and the pole are no coast.
"""


def arcs_of(topology):
    (kx, ky), (x0, y0) = topology["transform"]["scale"], topology["transform"]["translate"]
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            points.append((x * kx + x0, y * ky + y0))
        yield points


def rings_of(topology):
    arcs = list(arcs_of(topology))
    for geometry in topology["objects"]["land"]["geometries"]:
        polygons = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
        for ring in (ring for polygon in polygons for ring in polygon):
            points = []
            for number in ring:
                arc = arcs[number] if number >= 0 else arcs[~number][::-1]
                points += arc[1:] if points else arc
            yield points[:-1]


def unrolled(ring):
    """Longitudes without jumps; the second value is the way around the pole, 0 for most."""
    points = [ring[0]]
    for lon, lat in ring[1:] + ring[:1]:
        last = points[-1][0]
        points.append((lon - 360 * round((lon - last) / 360), lat))
    around = round((points[-1][0] - points[0][0]) / 360)
    return points, around


def clipped(points, inside, cross):
    """Sutherland and Hodgman against one meridian."""
    out = []
    for (a, b) in zip(points, points[1:] + points[:1]):
        if inside(a):
            out.append(a)
        if inside(a) != inside(b):
            out.append(cross(a, b))
    return out


def between(points, low, high):
    def at(lon):
        return lambda a, b: (lon, a[1] + (b[1] - a[1]) * (lon - a[0]) / (b[0] - a[0]))

    points = clipped(points, lambda p: p[0] >= low, at(low))
    return clipped(points, lambda p: p[0] <= high, at(high))


def cut(ring):
    """The parts of a ring on the map from -180 to 180 deg."""
    points, around = unrolled(ring)
    if around:
        # A ring around the pole is closed along the pole.
        pole = -90 if sum(lat for _, lat in ring) < 0 else 90
        points = points + [(points[-1][0], pole), (points[0][0], pole)]
    else:
        points = points[:-1]
    for turn in (-720, -360, 0, 360, 720):
        part = between(points, -180 + turn, 180 + turn) if points else []
        part = [(lon - turn, lat) for lon, lat in part]
        if len(part) >= 3:
            yield part


def thinned(ring):
    """Tenths of degrees, without points that repeat or lie on the line between their neighbours."""
    points = [(round(lon * 10), round(lat * 10)) for lon, lat in ring]
    while True:
        points = [b for a, b in zip(points[-1:] + points, points) if a != b]
        kept = []
        for i, (x, y) in enumerate(points):
            (ax, ay), (bx, by) = kept[-1] if kept else points[i - 1], points[(i + 1) % len(points)]
            if (x - ax) * (by - ay) != (y - ay) * (bx - ax):
                kept.append((x, y))
        if len(kept) == len(points):
            return points
        points = kept


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        topology = json.load(file)
    lines = []
    for ring in (thinned(part) for ring in rings_of(topology) for part in cut(ring)):
        if len(ring) < 3:
            continue
        steps = [(x - ax, y - ay) for (ax, ay), (x, y) in zip([(0, 0)] + ring, ring)]
        lines.append(" ".join(f"{dx} {dy}" for dx, dy in steps))
    sys.stdout.write(HEADING + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
