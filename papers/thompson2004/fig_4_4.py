"""TH figure 4.4: goodput over packet sizes and bit error rates at four rates, FACK, 40 ms.

Follows section 4.6.4: only payload counts, so headers of 40 bytes are a loss too.
Differs: by default 7 sizes and 5 error rates, `SKYHOP_FULL=1` for 12 and 9; three seeds, 24 where two are compared.
"40 ms" is read as the delay one way, as in table 6.7 (80 ms of RTT); the rows hold for 40 ms of RTT too, which the last measures.
Leaves out numbers under published but for the packet size that keeps performance (section 6.4.1).
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row
from thompson import FULL, left_open, simulated

SOURCE = "Thompson 2004, figure 4.4"
CLAIM = (
    "Small packets lose by headers, large ones by errors: the best size falls as errors grow, and at low error rates larger "
    "packets are better"
)

RATES_KBPS = (1000, 256, 54, 18)
SIZES_B = (60, 100, 150, 250, 400, 500, 750, 1000, 1250, 1400, 1500) if FULL else (60, 100, 250, 500, 750, 1000, 1500)
BERS = tuple(10.0 ** -(n / 2) for n in range(8, 17)) if FULL else (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
RTT_MS = 80


SIZE = "drawn: as errors spare a packet, sqrt(2 * 40 / 8 / BER) times a half or two of what was tried"
# SACK has 0.953 to 0.956.
FACK_REPEATS = "FACK loses repeats as ns-2's does, and with one segment in 25 lost that costs it a timeout now and then"


def reproduce() -> Reproduction:
    used = {rate: goodput(rate, RTT_MS) for rate in RATES_KBPS}
    rows = []
    for rate in (1000, 18):
        table = used[rate]
        best = {ber: best_size(table, ber) for ber in (1e-4, 1e-5, 1e-8)}
        rows.append(Row(f"{rate} kbit/s, 1e-4: best size", "B", None, best[1e-4], 60, 250, SIZE))
        rows.append(Row(f"{rate} kbit/s, 1e-5: best size", "B", None, best[1e-5], 100, 750, SIZE))
        rows.append(Row(f"{rate} kbit/s, 1e-8: best size", "B", None, best[1e-8], 1000, 1500, SIZE))
        rows.append(
            Row(
                f"{rate} kbit/s, 1e-8: 60 bytes, of which 40 are headers", "%", 33.3, table[60, 1e-8], 28, 33.4,
                "a ceiling; at 1 Mbit/s a queue of 50 such packets holds less than the link: a sixth", of="formula"
            )
        )
    slow = {size: kept(size) for size in (500, 1500)}
    rows.append(
        Row(
            "18 kbit/s, 500 bytes: 1e-5 over 1e-6", "times", None, slow[500], 0.9, 1.0,
            "words: performance is kept, read as nine tenths", FACK_REPEATS
        )
    )
    rows.append(
        Row(
            "18 kbit/s, 1500 bytes: 1e-5 over 1e-6", "times", None, slow[1500], 0.35, 0.85,
            "words: not kept by larger packets; one in nine is lost, and that leaves a third at the least"
        )
    )
    short = goodput(54, RTT_MS // 2, BERS[:3])
    rows.append(Row("54 kbit/s, 1e-5: best size with 40 ms of RTT", "B", None, best_size(short, 1e-5), 100, 750, SIZE))
    # The meaning of "40 ms", and the queue.
    said = []
    for rate, table in ((54, short), (1000, goodput(1000, RTT_MS // 2, BERS[:3]))):
        ber = BERS[2]
        said.append(
            f"The delay: 40 ms one way. {rate} kbit/s, {ber:.1g}: best with {best_size(used[rate], ber)} bytes, "
            f"{used[rate][best_size(used[rate], ber), ber]:.1f} %; with 40 ms of RTT {best_size(table, ber)} bytes, "
            f"{table[best_size(table, ber), ber]:.1f} %."
        )
    tried = ["best sizes are of those that were tried: " + ", ".join(f"{s}" for s in SIZES_B)]
    return Reproduction(rows, draw(used), tried, said + left_open("fack", 1e-6, 500))


def goodput(rate_kbps: float, rtt_ms: float, bers=BERS) -> dict[tuple[int, float], float]:
    """Payload delivered, in hundredths of the rate, by packet size and bit error rate."""
    table = {}
    for size in SIZES_B:
        for ber in bers:
            (share,) = simulated("fack", ber, size)([(rate_kbps, rtt_ms)])
            table[size, ber] = 100 * share * (size - 40) / size
    return table


def kept(size: int) -> float:
    """Utilisation of 18 kbit/s at 1e-5 over that at 1e-6."""
    ((some,), (few,)) = (simulated("fack", ber, size, seeds=24)([(18, RTT_MS)]) for ber in (1e-5, 1e-6))
    return some / few


def best_size(table: dict[tuple[int, float], float], ber: float) -> int:
    return max(SIZES_B, key=lambda size: table[size, ber])


def draw(used):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained", sharex=True, sharey=True)
    for ax, (rate, table) in zip(axes.flat, used.items()):
        z = np.array([[table[size, ber] for ber in BERS] for size in SIZES_B])
        filled = ax.contourf(np.log10(BERS), SIZES_B, z, levels=range(0, 101, 10), cmap="Greys_r", alpha=0.75)
        lines = ax.contour(np.log10(BERS), SIZES_B, z, levels=range(10, 100, 10), colors="#0b5fa5", linewidths=0.9)
        ax.clabel(lines, fontsize=8, fmt="%g %%")
        ax.set(title=f"{rate} kbit/s", xlabel="bit error rate (power of ten)", ylabel="packet (B)")
    figure.colorbar(filled, ax=axes, label="goodput (% of the rate)")
    return figure
