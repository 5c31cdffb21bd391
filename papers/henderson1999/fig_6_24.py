"""HT figure 6.24: share of forwarding entries that stay from state to state, and share that geographic forwarding predicts.

Follows section 6.6.2: a Teledesic satellite from the equator to the pole in 64 states of 26.5 s, a terminal in each cell.
Differs: the thesis does not name its satellite; 0.0 lies along the seam, so 6.0 is beside it. The two caps are cells too.
Uploads are counted by the simulator (`upload_entry`), for all satellites and their states of 26.5 s. Leaves out the coding of an entry,
of which the text says nothing: here 15 bits for the cell and 4 for the link, in three bytes.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 6.24 and section 6.6.2"
CLAIM = "70 to 95 % of the entries stay, except in states 45 and 51, in which the satellite's links to other planes are switched off"

TELEDESIC = {"preset": "teledesic", "isl_latitude_limit": "70 deg"}
IRIDIUM = {"preset": "iridium", "isl_latitude_limit": "70 deg", "cross_seam_isls": True}
#: The first state after which links between planes are switched off.
POLAR_STATE = 45
#: The last of 64 states has just begun.
UPLOADED_S = 63 * 26.5 + 1


def reproduce() -> Reproduction:
    seam, middle = (skyhop.tables(TELEDESIC, satellite, aggregate=False) for satellite in ("0.0", "6.0"))
    iridium = skyhop.tables(IRIDIUM, "2.0", states=POLAR_STATE, aggregate=False)
    uploads = uploaded()
    rows = [Row("length of a state", "s", 26.5, float(seam["t_s"][1]), 26.45, 26.55, "half of the last digit")]
    for name, table in [("0.0", seam), ("6.0", middle)]:
        kept = temporal(table)
        usual = kept[1:POLAR_STATE]
        # "Generally": two of 44 states may lie beyond either end.
        rows += [
            Row(
                f"{name}, entries that stay, low", "", 0.7, float(np.quantile(usual, 0.05)), 0.65, 0.9,
                "generally above 70 %: nineteen states in twenty, half of a digit, and not all near 95 %"
            ),
            Row(
                f"{name}, entries that stay, high", "", 0.95, float(np.quantile(usual, 0.95)), 0.93, 0.97,
                "generally below 95 %: nineteen states in twenty, 2 %"
            ),
        ]
        first, second = sorted(np.argsort(kept[1:])[:2] + 1)
        rows += [
            Row(f"{name}, first of the two states with fewest that stay", "", 45, float(first), 45, 45, "a count"),
            Row(f"{name}, second", "", 51, float(second), 51, 51, "a count"),
        ]
    rows.append(
        Row("Iridium, as geographic forwarding", "", 0.7, float(geographic(iridium).mean()), 0.65, 0.75, "around 70 %: half of the digit")
    )
    rows.append(
        Row(
            "updates of all satellites", "Mbit/s", None, uploads["upload_bytes"] * 8e-6 / UPLOADED_S, 0.5, 4.9,
            "words: on the order of a few Mb/s; entries of two to eight bytes"
        )
    )
    share = geographic(middle)[:POLAR_STATE].mean()
    remark = f"As geographic forwarding are {share:.0%} of the entries of 6.0; the thesis says much lower, and no number."
    each = uploads["uploaded_entries"] / uploads["uploads"]
    words = uploads["uploaded_entries"] * 64e-6 / UPLOADED_S
    coding = f"An upload has {each:.0f} entries in the mean. With entries of eight bytes, not three, all would take {words:.2f} Mbit/s."
    return Reproduction(rows, figure(seam, middle), [remark], [coding])


def temporal(table: skyhop.Table) -> np.ndarray:
    """Share of entries unchanged since the previous state; the first state has none."""
    delta = np.asarray(table["delta"], dtype=float)
    share = 1 - delta / table["entries"]
    share[0] = np.nan
    return share


def uploaded() -> dict:
    """Uploads of a quarter of an orbit, in which each satellite is in another part of it; the first tables are there already."""
    run = skyhop.run(
        {
            "duration": f"{UPLOADED_S} s",
            "record": {"sample_interval": "1000 s"},
            "constellation": TELEDESIC | {"update_interval": "26.5 s", "isl": {"rate": "155 Mbit/s"}, "gsl": {"rate": "64 Mbit/s"}},
            "routing": {"scheme": "central", "upload_entry": "3 B"},
            "terminals": {"quito": {"lat": "-0.2 deg", "lon": "-78.5 deg"}, "tokyo": {"lat": "35.7 deg", "lon": "139.7 deg"}},
            "flows": [{"name": "ping", "from": "quito", "to": "tokyo", "traffic": {"kind": "ping", "interval": "1 s"}}],
        }
    )
    return run.summary["routing"]


def geographic(table: skyhop.Table) -> np.ndarray:
    return 1 - table["overrides"] / table["entries"]


def figure(seam: skyhop.Table, middle: skyhop.Table) -> plt.Figure:
    figure, axes = plt.subplots(2, 1, figsize=(8, 6.5), layout="constrained", sharex=True)
    for ax, table, name in [(axes[0], seam, "0.0, at the seam"), (axes[1], middle, "6.0, away from the seam")]:
        ax.plot(table["state"], temporal(table), "ko-", ms=3, lw=0.8, label="as in the state before")
        ax.plot(table["state"], geographic(table), "s--", color="0.5", ms=3, lw=0.8, label="as geographic forwarding")
        ax.axhspan(0.7, 0.95, color="0.9", zorder=0)
        for state in (45, 51):
            ax.axvline(state, color="0.6", ls=":", lw=1)
        ax.set(ylim=(0, 1.02), ylabel="share of entries", title=f"Teledesic's satellite {name}")
    axes[0].legend(frameon=False, fontsize=8, loc="lower left")
    axes[1].set(xlabel="state, from the equator to the pole", xlim=(0, 64))
    return figure
