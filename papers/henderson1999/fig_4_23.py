"""HT figure 4.23: goodput of a satellite transfer beside a connection of 20 ms, end to end and split at the gateway.

Follows section 4.3.2: as figure 4.20, with a gateway between the Internet and the satellite network; figure 4.22 is its topology.
Differs: see `compete.py`; the gateway buffers 500 kB per connection, slightly more than the thesis's two to three times rate times RTT.
Leaves out the figure's numbers, which are not printed.
"""

from __future__ import annotations

from compete import CEILING_KBPS, RTTS_MS, draw, measure
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.23 and section 4.3.2"
CLAIM = "Split at the gateway, the connection gets its share of the router, and uses the satellite link fully again"


USED = "words: used again whatever the round trip, read as 85 %"


def reproduce() -> Reproduction:
    beside = [measure(rtt) for rtt in RTTS_MS]
    split = [measure(rtt, split=True) for rtt in RTTS_MS]
    rows = [
        Row("RTT 600 ms, split, of what the link carries", "", None, split[-1].satellite / CEILING_KBPS, 0.85, 1, USED),
        Row(
            "RTT 600 ms, split over end to end", "times", 12.8, split[-1].satellite / beside[-1].satellite, 9, 17,
            "a third: ns-2.35's 1283 over 100.4; three seeds move the small one by 20 %", of="ns-2.35"
        ),
        Row("split: least of the RTTs over the most", "", None, least_over_most(split), 0.85, 1, USED),
        Row(
            "RTT 600 ms, split: the neighbour", "kbit/s", None, split[-1].neighbour, 8000, 8700,
            "what the router carries of payload without what the satellite gets, 9615 - 1300, 4 %"
        ),
    ]
    remark = "The neighbour loses what the satellite connection gains: {:.0f} kbit/s beside an end-to-end one.".format(beside[-1].neighbour)
    figure = draw({"split": split, "end to end": beside}, "satellite", "goodput (kbit/s)")
    open_ = "The router has 10 Mbit/s. Split over 600 ms with others, kbit/s: " + ", ".join(
        f"{mbps:g} Mbit/s {measure(600, split=True, router_mbps=mbps).satellite:.0f}" for mbps in (4, 10, 20)
    )
    return Reproduction(rows, figure, [remark], [open_ + ". `fig_4_22.py` has other buffers."])


def least_over_most(outcomes) -> float:
    goodput = [o.satellite for o in outcomes]
    return min(goodput) / max(goodput)
