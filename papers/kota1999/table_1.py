"""KG table 1: proposed satellite systems with printed orbits, compared with the presets.

Follows table 1: altitude and number of satellites.
Differs: geostationary systems have no preset of their own; their places in the arc are not printed.
Leaves out throughput and access schemes, for which the table has names only.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Kota et al. 1999, table 1"
CLAIM = "Teledesic has 288 satellites at 1400 km, Celestri 63 at 1400 km, SkyBridge 80 at 1469 km"

LOWER = "Teledesic's filing for 288 satellites has 1375 km; the table rounds it"
#: Satellites and altitude, km.
SYSTEMS = {"teledesic-288": (288, 1400), "celestri": (63, 1400), "skybridge": (80, 1469)}


def reproduce() -> Reproduction:
    rows = []
    for name, (satellites, altitude_km) in SYSTEMS.items():
        nodes = skyhop.snapshot(name, "0 s").nodes
        why = "whole satellites"
        rows.append(Row(f"satellites, {name}", "", satellites, len(nodes), satellites, satellites, why))
        height = float(np.mean(nodes["altitude_km"]))
        known = LOWER if name == "teledesic-288" else ""
        rows.append(Row(f"altitude, {name}", "km", altitude_km, height, altitude_km - 1, altitude_km + 1, "printed digits", known))
    return Reproduction(rows)
