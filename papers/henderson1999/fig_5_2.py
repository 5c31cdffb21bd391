"""HT figure 5.2: STP's exchange for bulk data with one packet lost, as a packet sequence diagram of a simulated run.

Follows section 5.1.1: a POLL is answered with a STAT; a USTAT reports a loss at once; a repeated report in a STAT resends nothing.
Differs: the packets of one link in a simulated run, where the thesis draws a sketch; a rate of 40 kbit/s shows single packets.
Leaves out opening and closing.
"""

from __future__ import annotations

from rows import Reproduction, Row
from stp_trace import draw, trace

SOURCE = "Henderson 1999, figure 5.2 and section 5.1.1"
CLAIM = "A lost packet is requested by one USTAT and retransmitted once, although STATs also report it missing until it arrives"

RATE_BPS, DELAY_S = 40e3, 0.3
#: All packets in this interval are lost: a packet takes 0.2 s, so exactly one is.
LOSS_S = (1.55, 1.65)
SCENARIO = f"""
host = "1999"
duration = "60 s"
record.pcap = ["satellite"]
[links.satellite]
rate = "40 kbit/s"
delay = "300 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
reverse.schedule = []
[[links.satellite.schedule]]
from = "{LOSS_S[0]} s"
to = "{LOSS_S[1]} s"
loss.kind = "packets"
loss.probability = 1.0
[[flows]]
name = "bulk"
path = ["sender", "satellite", "receiver"]
traffic.kind = "bulk"
traffic.size = "20 kB"
[flows.transport]
kind = "stp"
format = "plain"
congestion = "rate"
max_rate = "40 kbit/s"
ustat_threshold = 1
"""


def reproduce() -> Reproduction:
    all_packets, summary = trace(SCENARIO)
    first = all_packets[0].number
    sent = [p for p in all_packets if p.forward and "SD" in p.kinds]
    again = [p for p in sent if sum(q.number == p.number for q in sent) > 1]
    missing = again[0].number if again else -1
    ustats = [p for p in all_packets if "USTAT" in p.kinds]
    stats = [p for p in all_packets if "STAT" in p.kinds]
    resent = again[-1].t_s if again else 0.0
    repeating = [p for p in stats if p.gap and p.gap[0] == missing]
    rows = [
        Row("packets that were sent twice", "", 1, len(again) / 2, 1, 1, "a count"),
        Row("USTATs", "", 1, len(ustats), 1, 1, "a count"),
        # The sketch has one; with three POLLs a round trip there are three until the repeat arrives.
        Row(
            "STATs that report it missing too", "", 1, len(repeating), 1, 4,
            "a count: one POLL in the sketch, three a round trip by the text, and one at its edge"
        ),
        Row(
            "from the USTAT's leaving to the repeat's", "RTT", None, (resent - ustats[0].t_s) / 0.6 if ustats else 0, 0.45, 0.95,
            "words: at once; half a round trip and up to two packets of 0.2 s in service"
        ),
        Row("bytes delivered", "", None, summary["flows"]["bulk"]["bytes_delivered"], 20_000, 20_000, "all of it"),
    ]
    shown = [p._replace(number=p.number - first) if "SD" in p.kinds else p for p in all_packets if p.t_s < 3.2]
    shown = [
        p._replace(next=None if p.next is None else p.next - first, gap=None if p.gap is None else (p.gap[0] - first, p.gap[1] - first))
        for p in shown
    ]
    lost = {i for i, p in enumerate(shown) if p.forward and "SD" in p.kinds and p.number == missing - first and p.t_s < resent}
    remark = f"The lost packet is number {missing - first}; it is resent {resent - again[0].t_s if again else 0:.2f} s after it first left."
    return Reproduction(rows, draw(shown, DELAY_S, RATE_BPS, lost, "bulk transfer, one packet lost"), [remark])
