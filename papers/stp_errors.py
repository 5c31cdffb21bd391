"""HT section 5.2.3: STP at a promised rate over a geostationary link with bit errors, for figures 5.7 and 5.8.

Follows its text: packets of 1000 bytes, 1 Mbit/s for STP and IP, the topology of figure 5.5 without other traffic.
Differs: bit errors in both directions; 900 s a point, five seeds.
Leaves out the figures' points, which are not printed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from satellite import run_text
from stp import BULK, STP, flow, head, link

BIT_ERROR_RATES = (1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4)
CEILING_KBPS = 968
PACKET_BITS = 8000
#: Long runs, since up to a window behind a missing packet is undelivered at the end: at 1e-4 that is 6 % of 300 s.
SEEDS, DURATION_S = 5, 900


@lru_cache(maxsize=None)
def measure(bit_error_rate: float, packet_b: int = 980) -> tuple[float, float]:
    """Goodput and return bandwidth, kbit/s."""
    loss = f'loss.kind = "bit-errors"\nloss.bit_error_rate = {bit_error_rate}'
    transport = STP | {"congestion": "rate", "max_rate": "1 Mbit/s", "packet_size": f"{packet_b} B"}
    text = head(DURATION_S, DURATION_S) + link("satellite", "hub", "terminal", "1.5 Mbit/s", 260, 19, loss)
    text += link("a", "server", "hub", "10 Mbit/s", 3, 125) + link("b", "terminal", "user", "10 Mbit/s", 3, 125)
    text += flow("transfer", "server", "user", transport, BULK)
    flows = [run_text(text, seed).summary["flows"]["transfer"] for seed in range(1, SEEDS + 1)]
    bits = 8e-3 / DURATION_S
    return float(np.mean([f["bytes_delivered"] for f in flows])) * bits, float(np.mean([f["return_bytes"] for f in flows])) * bits


def spoilt(bit_error_rate: float) -> float:
    """Share of the packets that bit errors corrupt."""
    return 1 - (1 - bit_error_rate) ** PACKET_BITS


def draw(values: dict[float, float], label: str, ceiling: float | None = None):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    ax.semilogx(list(values), list(values.values()), "o-", color="0.1", markersize=4, label="STP")
    if ceiling:
        ax.semilogx(list(values), [ceiling * (1 - spoilt(ber)) for ber in values], "--", color="0.5", label="what errors let through")
        ax.legend(frameon=False)
    ax.set(xlabel="bit error ratio", ylabel=label, ylim=(0, None), title="1 Mbit/s, RTT 532 ms")
    ax.grid(color="#e1e4e8", linewidth=0.8)
    return figure
