"""HT figure 5.10: goodput of a satellite transfer whose gateway uses STP over the satellite, compared with one that uses TCP.

Follows section 5.3: the topology of figure 5.9 (4.22), a connection of 20 ms beside it, congestion control alike.
Differs: see `compete.py`; STP's packets carry as much as TCP's.
Leaves out the figure's numbers, which are not printed; the bounds follow from the reading of its words.
"""

from __future__ import annotations

from compete import CEILING_KBPS, RTTS_MS, draw, measure
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 5.10 and section 5.3"
CLAIM = "Split STP has about the goodput of split TCP, slightly less over long round trips, since its packets are spread over a round trip"

STP = '{ kind = "stp", format = "plain", packet_size = "1012 B" }'


#: Bounds and their reason.
ALIKE = (0.9, 1.1, "words: approximately the same")
LESS = (0.85, 0.99, "words: slightly smaller over long round trips, read as a hundredth at least; of 400 and 600 ms over 40 to 200")
#: Reason of a known difference.
LEVEL = "STP and TCP fill the satellite link alike at each round trip here (0.94 of what it carries at 600 ms); neither falls behind"


def reproduce() -> Reproduction:
    tcp = [measure(rtt, split=True) for rtt in RTTS_MS]
    stp = [measure(rtt, split=True, beyond=STP) for rtt in RTTS_MS]
    rows = [
        Row(f"RTT {rtt} ms: STP, of TCP", "", None, s.satellite / t.satellite, *ALIKE)
        for rtt, s, t in zip(RTTS_MS, stp, tcp)
    ]
    shares = [s.satellite / t.satellite for s, t in zip(stp, tcp)]
    rows.append(Row("STP of TCP, long round trips over short", "", None, sum(shares[3:]) / 2 / (sum(shares[:3]) / 3), *LESS, known=LEVEL))
    rows.append(
        Row(
            "RTT 600 ms: STP, of what the link carries", "", None, stp[-1].satellite / CEILING_KBPS, 0.8, 1,
            "words: approximately as TCP, which has 85 % and more (figure 4.23)"
        )
    )
    spread = measure(600, split=True, beyond=STP.replace(" }", ", spread = 0.33 }")).satellite
    alone = measure(600, split=True, neighbour=False, beyond=STP).satellite
    remark = (
        f"RTT 600 ms, kbit/s: STP {stp[-1].satellite:.0f}, TCP {tcp[-1].satellite:.0f}; STP spread over a third of a round trip "
        f"{spread:.0f}, without the neighbour {alone:.0f}."
    )
    return Reproduction(rows, draw({"split STP": stp, "split TCP": tcp}, "satellite", "goodput (kbit/s)"), [remark])
