"""TH figure 3.1: delay to a satellite during a pass, for four kinds of orbit.

Follows section 3.2: one way, straight up the slant range, without the hardware's 20 to 40 ms.
Differs: the low orbit is one of SUNSAT's height and inclination on a circle; the others are presets.
Leaves out the ground station's equipment.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Thompson 2004, figure 3.1"
CLAIM = "The delay of a low satellite is a few ms and changes rapidly; that of a geostationary one stays near 120 ms one way"

#: SUNSAT: 400 by 838 km at 93 degrees (Stellenbosch); a circle at its mean height.
SUNSAT = {
    "shell": {"planes": 1, "satellites_per_plane": 1, "altitude": "620 km", "inclination": "93 deg"},
    "elevation_mask": "5 deg",
    "isls": False,
}
ORBITS = {
    "low (620 km)": (SUNSAT, "1 d"),
    "medium (ICO, 10,390 km)": ({"preset": "ico", "isls": False, "elevation_mask": "10 deg"}, "1 d"),
    "elliptic (Molniya)": ({"preset": "molniya", "isls": False, "elevation_mask": "5 deg"}, "1 d"),
    "geostationary": ({"geostationary": ["30 deg"], "elevation_mask": "5 deg"}, "1 d"),
}
RANGE = "a best pass is not straight overhead, nor does it begin at the horizon: a fifth, and a quarter"
STELLENBOSCH = {"name": "stellenbosch", "lat": "-33.93 deg", "lon": "18.86 deg"}
MOSCOW = {"name": "moscow", "lat": "55.76 deg", "lon": "37.62 deg"}


def reproduce() -> Reproduction:
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    rows = []
    # Heights over c, straight up and at the mask; Moscow sees Molniya's satellites from 11,000 km up to the apogee of 39,900.
    published = {"low (620 km)": (2, 10), "medium (ICO, 10,390 km)": (34, 55), "elliptic (Molniya)": (36, 133)}
    for (name, (constellation, duration)), dash in zip(ORBITS.items(), ("-", "--", "-.", ":")):
        # An orbit of the Molniya type serves the north.
        place = MOSCOW if "Molniya" in name else STELLENBOSCH
        if name == "geostationary":
            # A geostationary satellite neither rises nor sets.
            t, delay = profile(place, constellation, 0, 86_400, None)
            rows.append(
                Row(
                    f"{name}: delay", "ms", 120, float(delay.mean()), 119, 135,
                    "from straight below to the horizon, 119 to 139 ms; near the text's 120", of="height"
                )
            )
            rows.append(Row(f"{name}: change in a day", "ms", 0, float(np.ptp(delay)), 0, 0.01, "it stands still: rounding", of="height"))
        else:
            passes = skyhop.passes(place, constellation, duration=duration)
            whole = np.isfinite(passes["rise_s"]) & np.isfinite(passes["set_s"])
            best = int(np.argmax(np.where(whole, passes["max_elevation_deg"], -1)))
            rise, set_, satellite = (passes[column][best] for column in ("rise_s", "set_s", "satellite"))
            t, delay = profile(place, constellation, rise, set_, satellite)
            low, high = published[name]
            rows.append(Row(f"{name}: least delay of a pass", "ms", low, float(delay.min()), 0.9 * low, 1.2 * low, RANGE, of="height"))
            rows.append(
                Row(f"{name}: largest delay of a pass", "ms", high, float(delay.max()), 0.75 * high, 1.1 * high, RANGE, of="height")
            )
        ax.plot(t, delay, dash, color="0.1", label=name)
    ax.set(xlabel="time since the satellite rose (min)", ylabel="one-way delay (ms)", ylim=(0, None), xlim=(0, 600))
    ax.set_xscale("symlog", linthresh=20)
    ax.set_xticks([0, 5, 10, 20, 60, 180, 600], ["0", "5", "10", "20", "60", "180", "600"])
    ax.legend(frameon=False)
    remark = "The figure prints no numbers: what stands under published follows from the orbits' heights, as it does there."
    return Reproduction(rows, figure, [remark], [left_open()])


def left_open() -> str:
    """Slant range straight up and at the mask, over c: by geometry, beside the rows' simulated passes."""

    def delay_ms(height_km: float, elevation_deg: float) -> float:
        up = 6378.137 * np.sin(np.radians(elevation_deg))
        return float((np.sqrt(up**2 + 2 * 6378.137 * height_km + height_km**2) - up) / 299.792458)

    heights = ", ".join(f"{h} km {delay_ms(h, 90):.1f} to {delay_ms(h, 5):.1f} ms" for h in (400, 620, 838))
    masks = ", ".join(f"{mask} deg {delay_ms(620, mask):.1f} ms" for mask in (0, 5, 10))
    return (
        f"SUNSAT's height in the pass that is drawn: 620 km, seen from 5 deg on. {heights}; the largest delay at 620 km seen from {masks}."
    )


def profile(
    place: dict[str, str], constellation: dict, rise_s: float, set_s: float, satellite: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Minutes since rising and slant delay in ms, from positions."""
    times = np.linspace(rise_s, set_s, 60)
    delays = []
    for t in times:
        nodes = skyhop.snapshot(constellation, t, terminals=[place]).nodes
        orbiting = nodes["kind"] == "satellite" if satellite is None else nodes["name"] == satellite
        at, here = (cartesian(nodes, rows) for rows in (orbiting, nodes["name"] == place["name"]))
        delays.append(np.linalg.norm(at - here) / 299.792458)
    return (times - rise_s) / 60, np.array(delays)


def cartesian(nodes: skyhop.Table, rows: np.ndarray) -> np.ndarray:
    lat, lon = np.radians(nodes["latitude_deg"][rows][0]), np.radians(nodes["longitude_deg"][rows][0])
    radius = 6378.137 + nodes["altitude_km"][rows][0]
    return radius * np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
