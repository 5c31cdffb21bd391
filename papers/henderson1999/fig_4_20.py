"""HT figure 4.20: goodput of a satellite transfer by its round trip, alone and beside one connection of 20 ms.

Follows section 4.2.3: one persistent transfer in the same direction through the first router, not over the satellite.
Differs: see `compete.py`.
Leaves out the figure's numbers, which are not printed; ns-2.35's replace them.
"""

from __future__ import annotations

from compete import RTTS_MS, draw, measure
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.20 and section 4.2.3"
CLAIM = "One connection of 20 ms takes nearly all from an end-to-end connection of 600 ms, and little from one of 40 ms"


def reproduce() -> Reproduction:
    alone = [measure(rtt, neighbour=False) for rtt in RTTS_MS]
    beside = [measure(rtt) for rtt in RTTS_MS]
    rows = [
        Row(
            "RTT 600 ms, alone", "kbit/s", 1283, alone[-1].satellite, 1193, 1373,
            "7 %: ours has random host delays, which break phases, and ns-2's run alone has none", of="ns-2.35"
        ),
        Row(
            "RTT 600 ms, beside", "kbit/s", 100.4, beside[-1].satellite, 80, 121, "20 %: three seeds of 300 s, some ten losses each",
            of="ns-2.35"
        ),
        Row(
            "RTT 600 ms, the neighbour", "kbit/s", 9489, beside[-1].neighbour, 9300, 9600,
            "2 %; 9600 is what the router carries of payload", of="ns-2.35"
        ),
        Row(
            "RTT 40 ms, beside", "kbit/s", 1441, beside[0].satellite, 1370, 1443, "5 %; 1443 is what the link carries of payload",
            of="ns-2.35"
        ),
        Row(
            "RTTs at which it loses more than at the shorter one", "", None, falls([o.satellite for o in beside]), 3, 4,
            "drawn: each; the two shortest may be alike"
        ),
    ]
    narrow, slower = measure(600, router_mbps=1.5), measure(600, variant="newreno-slow-but-steady")
    remark = (
        f"A router of 1.5 Mbit/s in place of 10: {narrow.satellite:.0f} kbit/s (ns-2 278 with a spread of 68). NewReno without SACK: "
        f"{slower.satellite:.0f} kbit/s (ns-2 104)."
    )
    return Reproduction(rows, draw({"alone": alone, "beside 20 ms": beside}, "satellite", "goodput (kbit/s)"), sensitivity=[remark])


def falls(values: list[float]) -> int:
    return sum(b < a for a, b in zip(values, values[1:]))
