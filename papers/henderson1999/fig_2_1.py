"""HT figure 2.1: packets of the smallest exchange, by TCP and by T/TCP.

Follows section 2.1.1: a byte there, and with T/TCP a byte back too; both ends close.
Differs: our TCP's first data carry the acknowledgment of the second SYN, as section 4.2.4 has it, and save one of the seven.
Leaves out the figure's sequence numbers.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import run_text, toml
from stp import BSD, head, link

SOURCE = "Henderson 1999, figure 2.1 and section 2.1.1"
CLAIM = "TCP needs seven packets for a byte; with T/TCP the request and the reply travel in SYNs with FINs: three packets"

KNOWN_T_TCP = {"open": {"kind": "t-tcp", "known": True}}


def reproduce() -> Reproduction:
    usual, transaction = packets(BSD, False), packets(BSD | KNOWN_T_TCP, True)
    rows = [
        Row("TCP: packets", "", 7, usual, 6, 9, "usually seven; a reply is one more, and data may carry one"),
        Row("T/TCP: packets", "", 3, transaction, 3, 3, "a count"),
    ]
    return Reproduction(rows)


def packets(transport: dict, half_close: bool) -> float:
    byte = {"kind": "fixed", "value": "1 B"}
    traffic = {"kind": "request-response", "request": byte, "reply": byte, "count": 1, "half_close": half_close}
    text = head(60) + link("satellite", "client", "server", "1.3 Mbit/s", 300, 50)
    text += f'[[flows]]\nname = "exchange"\nfrom = "client"\nto = "server"\ntransport = {toml(transport)}\ntraffic = {toml(traffic)}\n'
    crossed = run_text(text).summary["links"]["satellite"]
    return float(crossed["forward"]["packets"] + crossed["reverse"]["packets"])
