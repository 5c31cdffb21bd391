"""WP, remedies that the text names: routers that divert only what is congested, and edges that put packets back into order.

Follows the sections on multipath routing and on path and flow: see `mesh.py` for the network and TCP.
Differs: the paper simulated neither; links between satellites of 3 Mbit/s stand for congestion.
Leaves out split connections, the third remedy, which HT's figure 4.23 has.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from mesh import INSTANTS_DEG, PLACES, SCENARIO, SYSTEMS, mean
from rows import Reproduction, Row

import skyhop

SOURCE = "Wood et al. 2001, what compensates for several paths"
CLAIM = "Diverting packets at congested links avoids drops, and resequencing at the gateways restores order for TCP, at the cost of delay"

CBR = {"flows.ftp.traffic": '{ kind = "cbr", rate = "4.5 Mbit/s", size = "972 B" }', "flows.ftp.transport": '{ kind = "udp" }'}
NARROW = {"constellation.isl": '{ rate = "3 Mbit/s", queue = { kind = "drop-tail", limit = "50 packets" } }', "duration": "20 s"}


def reproduce() -> Reproduction:
    rows = []
    for system, name in SYSTEMS.items():
        one, several = mean(system, "newreno", "shortest"), mean(system, "newreno")
        ordered = [run(system, {"flows.ftp.resequencing": "200 ms"}, turn) for turn in INSTANTS_DEG]
        goodput = float(np.mean([summary["flows"]["ftp"]["goodput_bps"] for summary in ordered])) / 1e6
        again = sum(summary["flows"]["ftp"]["segments_retransmitted"] for summary in ordered)
        rows += [
            Row(
                f"{name}: several paths in order over disorder, goodput", "times", None, goodput / several, 1.02, 3,
                "words: can be compensated for; disorder costs a fiftieth to two thirds"
            ),
            Row(
                f"{name}: several paths in order over one path, goodput", "", None, goodput / one, 0.75, 1.005,
                "words: adds to latency; the longest of the paths is longer by up to a third"
            ),
            Row(f"{name}: segments sent twice, in order", "", 0, float(again), 0, 0, "words: nothing is lost and all is in order"),
        ]
    drops = {spread: dropped("teledesic", spread) for spread in ("first", "congestion")}
    rows += [
        Row("Teledesic, 4.5 over 3 Mbit/s: dropped on one path", "%", None, drops["first"], 25, 40, "words: discards; a third is too much"),
        Row(
            "dropped where it is diverted, over that", "", None, drops["congestion"] / drops["first"], 0.1, 0.9,
            "words: instead of dropping; what meets again behind the first links is dropped there"
        ),
        Row(
            "links between satellites in use without congestion, over those of a path", "", 1, idle_share("teledesic"), 1, 1,
            "words: only when congestion occurs"
        ),
    ]
    return Reproduction(rows)


@lru_cache(maxsize=None)
def cached(system: str, changes: tuple[tuple[str, str], ...], turn_deg: float) -> dict:
    turned = {name: (lon + turn_deg + 180) % 360 - 180 for name, lon in PLACES.items()}
    places = {f"terminals.{name}.lon": f"{lon:.2f} deg" for name, lon in turned.items()}
    return skyhop.run(SCENARIO, set={"constellation.preset": system, **places, **dict(changes)}).summary


def run(system: str, changes: dict[str, str], turn_deg: float) -> dict:
    return cached(system, tuple(changes.items()), turn_deg)


def dropped(system: str, spread: str) -> float:
    """Datagrams dropped, %, over all instants whose paths are several."""
    way = {"routing.spread": spread} if spread == "congestion" else {"routing.scheme": "shortest", "routing.metric": "hops"}
    lost = [run(system, CBR | NARROW | way, turn)["flows"]["ftp"] for turn in INSTANTS_DEG if several(system, turn)]
    return 100 * float(np.mean([1 - flow["received"] / flow["sent"] for flow in lost]))


def several(system: str, turn_deg: float) -> bool:
    """True if packets take turns among several first links."""
    return len(used(run(system, {"duration": "20 s"} | CBR, turn_deg))) > 1 + min_links(system, turn_deg)


def min_links(system: str, turn_deg: float) -> int:
    """Links between satellites of a path with the fewest."""
    way = {"routing.scheme": "shortest", "routing.metric": "hops", "duration": "20 s"}
    return len(used(run(system, way | CBR, turn_deg)))


def idle_share(system: str) -> float:
    """Links in use by the spread that diverts, where nothing is congested, over those of one path."""
    quiet = {"routing.spread": "congestion", "duration": "20 s"}
    return float(np.mean([len(used(run(system, quiet | CBR, turn))) / min_links(system, turn) for turn in INSTANTS_DEG]))


def used(summary: dict) -> list[str]:
    carried = {name: link["forward"]["packets"] + link["reverse"]["packets"] for name, link in summary["links"].items()}
    return [name for name, packets in carried.items() if name.startswith("isl:") and packets]
