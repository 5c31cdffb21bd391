"""HT figure 5.3: a short transaction over STP, a request of 400 bytes and a reply of 8000, as a packet sequence diagram of a simulated run.

Follows section 5.1.1: data leave with the BGN, the last packet of each burst polls, the window grows by a packet for each acknowledged.
Differs: the packets of one link in a simulated run, where the thesis draws a sketch that waits for the BGNAK.
Leaves out the applications' calls.
"""

from __future__ import annotations

from rows import Reproduction, Row
from stp_trace import draw, trace

SOURCE = "Henderson 1999, figure 5.3 and section 5.1.1"
CLAIM = (
    "A request of 400 bytes and a reply of 8000 in six packets take a few packets more, since the last packet of each burst requests a STAT"
)

SCENARIO = """
host = "1999"
duration = "60 s"
record = { pcap = ["satellite"] }
[links.satellite]
rate = "1.5 Mbit/s"
delay = "300 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
[[flows]]
name = "transaction"
path = ["client", "satellite", "server"]
[flows.traffic]
kind = "request-response"
request = { kind = "fixed", value = "400 B" }
reply = { kind = "fixed", value = "8000 B" }
count = 1
[flows.transport]
kind = "stp"
format = "plain"
packet_size = "1480 B"
"""


def reproduce() -> Reproduction:
    packets, summary = trace(SCENARIO)
    to, back = ([p for p in packets if p.forward == forward and "SD" in p.kinds] for forward in (True, False))
    took = summary["flows"]["transaction"]["completion_mean_s"]
    rows = [
        Row("packets of data there", "", 1, len(to), 1, 1, "a count"),
        Row("packets of data back", "", 6, len(back), 6, 6, "a count"),
        Row("the first packet is", "BGN+SD+POLL", None, float(packets[0].kinds == ("BGN", "SD", "POLL")), 1, 1, "drawn: true is 1"),
        Row(
            "POLLs on the reply's data", "", None, sum("POLL" in p.kinds for p in back), 2, 4,
            "drawn: the last of each burst of 1, 2, 3, and one at the edge"
        ),
        # One, two and three packets of the reply, each group in a round trip of its own.
        Row("request to reply", "RTT", None, took / 0.6, 3, 5.5, "drawn: three windows, each spread over a round trip here"),
        Row("all packets", "", None, len(packets), 9, 16, "drawn: seven of data, a STAT a burst, opening and closing"),
    ]
    firsts = {forward: next(p.number for p in packets if p.forward == forward and "SD" in p.kinds) for forward in (True, False)}

    def relative(p):
        own, peer = firsts[p.forward], firsts[not p.forward]
        return p._replace(number=p.number - own, next=None if p.next is None else p.next - peer)

    figure = draw([relative(p) for p in packets], 0.3, 1.5e6, set(), "400 bytes asked, 8000 answered", ("client", "server"))
    return Reproduction(rows, figure, [f"The transaction takes {took:.2f} s, {len(packets)} packets."])
