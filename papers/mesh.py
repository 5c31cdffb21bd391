"""Transfers from Quito to Tokyo over all paths of the fewest links, for WP's figures 4 and 5.

Follows WP's text: 5 and 10 Mbit/s, packets of 1000 bytes, 100 s, no losses, a small receive window, NewReno and SACK.
Differs: the instant is not published; each number is the mean over eight, three hours of the Earth's rotation apart.
Leaves out the movement of links: in 100 s the links hardly change.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

import skyhop

SCENARIO = Path(__file__).parent / "wood2001" / "fig_4.toml"
SYSTEMS = {"teledesic": "Teledesic", "spaceway-ngso": "Spaceway NGSO"}
#: ns-2's agents used in the paper.
VARIANTS = {"newreno": "NewReno", "sack1": "SACK"}
#: Rotation of the terminals under the satellites.
INSTANTS_DEG = range(0, 360, 45)
NO_DELAY = '{ kind = "none" }'
DELAY = '{ kind = "one-shot", timeout = "200 ms" }'
HEARTBEAT = '{ kind = "heartbeat", period = "200 ms" }'
PLACES = {"quito": -78.51, "tokyo": 139.69}


@lru_cache(maxsize=None)
def goodputs(
    system: str,
    variant: str,
    scheme: str = "multipath",
    threshold: int = 3,
    acks: str = DELAY,
    gap_fillers: bool = True,
    window: int = 40,
    spread: str = "packets",
) -> np.ndarray:
    """Goodput in Mbit/s at each instant; scheme "shortest" is the single path with the least delay."""
    tcp = {
        "variant": variant,
        "dupack_threshold": threshold,
        "delayed_ack": acks,
        "ack_gap_fillers": gap_fillers,
        "window": f"{window} segments",
        "initial_ssthresh": f"{window} segments",
    }
    changes = {f"flows.ftp.transport.{key}": value for key, value in tcp.items()}
    changes |= {"constellation.preset": system, "routing.scheme": scheme, "routing.spread": spread}
    return np.array([transfer(changes, turn) for turn in INSTANTS_DEG])


def transfer(changes: dict[str, object], turn_deg: float) -> float:
    turned = {name: (lon + turn_deg + 180) % 360 - 180 for name, lon in PLACES.items()}
    places = {f"terminals.{name}.lon": f"{lon:.2f} deg" for name, lon in turned.items()}
    flow = skyhop.run(SCENARIO, set={**changes, **places}).summary["flows"]["ftp"]
    return flow["goodput_bps"] / 1e6


def mean(*args: object, **keys: object) -> float:
    return float(np.mean(goodputs(*args, **keys)))
