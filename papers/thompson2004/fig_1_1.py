"""TH figure 1.1: AX.25 and TCP/IP in theory, by their headers and by their windows.

Follows section 1.1: the share of a channel left by headers, and the throughput limit of a window, by delay.
Differs: the figure prints no numbers; those under published are the closed forms, and ours are simulations where skyhop has the protocol.
Leaves out AX.25's stuffed bits and its transmitters' switching times, which the thesis leaves out too.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row

import skyhop
from skyhop.theory import AX25, TCP_IP

SOURCE = "Thompson 2004, figure 1.1"
CLAIM = (
    "In packets of AX.25's size AX.25 has less overhead than TCP/IP, in large packets TCP/IP has less; "
    "TCP's window allows 36 times the throughput at any delay"
)


def reproduce() -> Reproduction:
    rows = [
        # The thesis criticises 16 octets of addresses and call signs; with flags, control, PID and checks they are 20.
        Row("AX.25: share left for data, 256 B", "%", 100 * 256 / 276, 100 * AX25.share(), 92.7, 92.8, "octets of the frame", of="formula"),
        Row(
            "TCP/IP is as good from a payload of", "B", None, float(crossing()), 512, 512,
            "equal headers over payload: twice 256 bytes over 20 octets"
        ),
    ]
    for payload in (256, 512, 1460):
        published = 100 * TCP_IP.share(payload)
        rows.append(
            Row(
                f"TCP/IP: share left for data, {payload} B", "%", published, 100 * simulated(1e6, 1e-3, payload, 60) / 1e6,
                published - 0.2, published + 0.2, "a handshake of 200 s", of="formula"
            )
        )
    for rtt_ms in (20, 250, 500):
        # TCP's window over a channel with ample rate, and AX.25's seven packets in TCP's headers.
        for name, framing, payload, count in (("64 kB", TCP_IP, 1460, 44), ("7 packets of 256 B", AX25, 256, 7)):
            published = framing.throughput(rtt_ms / 1e3, payload=payload)
            ours = simulated(1e9, rtt_ms / 1e3, payload, count)
            rows.append(
                Row(
                    f"{name}, RTT {rtt_ms} ms", "kbit/s", published / 1e3, ours / 1e3, published / 1e3 * 0.97, published / 1e3 * 1.001,
                    "a ceiling; slow start takes some round trips of 200 s", of="formula"
                )
            )
    return Reproduction(rows, draw(), [])


def crossing() -> int:
    """The smallest payload at which TCP/IP leaves as much for data as AX.25."""
    return next(n for n in range(1, 65_000) if TCP_IP.share(n) >= AX25.share() - 1e-12)


def simulated(rate_bps: float, rtt_s: float, payload: int, packets: int) -> float:
    """Goodput in bit/s of TCP with a window of that many packets."""
    scenario = {
        "host": "1999",
        "duration": "200 s",
        "links": {
            "path": {
                "rate": f"{rate_bps:.0f} bit/s",
                "delay": f"{rtt_s * 500:g} ms",
                "queue": {"kind": "drop-tail", "limit": "1000 packets"},
            }
        },
        "flows": [
            {
                "name": "flow",
                "path": ["a", "path", "b"],
                "traffic": {"kind": "bulk"},
                "transport": {"kind": "tcp", "mss": f"{payload} B", "window": f"{payload * packets} B", "delayed_ack": {"kind": "none"}},
            }
        ],
    }
    return skyhop.run(scenario).summary["flows"]["flow"]["goodput_bps"]


def draw():
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    sizes = np.arange(16, 2001)
    left.plot(sizes, [100 * TCP_IP.share(int(n)) for n in sizes], "-", color="0.1", label="TCP/IP")
    left.plot(sizes, np.full(len(sizes), 100 * AX25.share()), "--", color="0.45", label="AX.25, always 256 bytes")
    left.plot(AX25.payload, 100 * AX25.share(), "o", color="0.45", markersize=5)
    left.set(xlabel="payload of a packet (bytes)", ylabel="share left for data (%)", ylim=(0, 100), title="(a) headers")
    delays = np.geomspace(1, 1000, 200)
    for framing, payload, dash, grey in ((TCP_IP, 1460, "-", "0.1"), (AX25, 256, "--", "0.45")):
        most = [framing.throughput(2 * d / 1e3, payload=payload) / 1e3 for d in delays]
        right.plot(delays, most, dash, color=grey, label=framing.name)
    right.set(xlabel="one-way delay (ms)", ylabel="most (kbit/s)", xscale="log", yscale="log", title="(b) windows")
    for ax in (left, right):
        ax.legend(frameon=False)
        ax.grid(color="0.9")
    return figure
