"""TH table 6.1: share of packets that bit errors spoil, by packet size, at three bit error rates.

Follows section 6.2.3: the errors of bits are turned into those of packets of one size.
Differs: counted, of a million datagrams over a link with bit errors; the table has the product of bits and rate.
Leaves out segments without their headers of 66 bytes, the table's first column.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import run_text

SOURCE = "Thompson 2004, table 6.1"
CLAIM = "The share of corrupted packets rises with their size and with the bit error rate"

SIZES_B = (100, 250, 500, 750, 1000, 1250, 1400, 1500)
PRINTED = {
    1e-4: (8, 20, 40, 60, 80),
    1e-5: (0.8, 2, 4, 6, 8, 10, 11.2, 12),
    1e-6: (0.08, 0.2, 0.4, 0.6, 0.8, 1, 1.12, 1.2),
}
#: IPv4 and UDP.
HEADERS_B = 28
DATAGRAMS = 1_000_000
WHY = "a tenth: the product is up to 6 % above 1 - (1 - BER)^bits at 12 %, and a million packets tell 0.08 % to 4 %"
PRODUCT = "the table has bits times rate, which counts a packet with two errors twice; independent errors spoil 1 - (1 - BER)^bits"
#: Where it is more than a tenth off.
KNOWN = {(1e-4, 500): PRODUCT, (1e-4, 750): PRODUCT, (1e-4, 1000): PRODUCT}


def reproduce() -> Reproduction:
    rows = []
    for ber, printed in PRINTED.items():
        for size, there in zip(SIZES_B, printed):
            known = KNOWN.get((ber, size), "")
            rows.append(Row(f"{ber:.0e}, {size} B: packets spoilt", "%", there, spoilt(ber, size), 0.9 * there, 1.1 * there, WHY, known))
    return Reproduction(rows)


def spoilt(ber: float, size: int) -> float:
    rate = 10_000_000
    seconds = DATAGRAMS * 8 * size / rate
    text = f"""duration = "{seconds + 1:g} s"
record.sample_interval = "{seconds + 1:g} s"
[links.satellite]
rate = "{rate} bit/s"
delay = "40 ms"
loss = {{ kind = "bit-errors", bit_error_rate = {ber} }}
[[flows]]
name = "datagrams"
path = ["ground", "satellite", "micro-satellite"]
stop = "{seconds:g} s"
traffic = {{ kind = "cbr", rate = "{round(rate * (size - HEADERS_B) / size)} bit/s", size = "{size - HEADERS_B} B" }}
"""
    forward = run_text(text).summary["links"]["satellite"]["forward"]
    return 100 * forward["packets_lost"] / forward["packets"]
