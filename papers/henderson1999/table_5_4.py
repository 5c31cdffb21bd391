"""HT table 5.4: file transfers over DirecPC and Ricochet, with STP and TCP, over simulated stand-ins for both.

Follows section 5.3 and HK's description: DirecPC with an RTT of 375 ms and a return link of 50 kbit/s, 1 MB; Ricochet with a base RTT of
350 ms and queues that hold 15 s, 100 kB. Differs: 100 transfers each, the thesis 25; rates, losses, queues and TCP's window over DirecPC
are not stated; they are chosen to match the forward rates (see the remarks), and return bandwidth is compared. Leaves out the hops of the
Internet.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from rows import Reproduction, Row
from satellite import run_text, toml
from stp import head

SOURCE = "Henderson 1999, table 5.4 and section 5.3"
CLAIM = (
    "STP is faster than TCP over DirecPC and as fast over Ricochet, with half of its return bandwidth; deep queues lead to RTTs of many "
    "seconds"
)

TCP = {"kind": "tcp", "variant": "sack-newreno", "mss": "960 B", "initial_window": "1 segment"}
STP = {"kind": "stp", "format": "plain"}
RUNS = 100


class Network(NamedTuple):
    down: str
    up: str
    rtt_ms: float
    queue: str
    loss: float
    megabytes: float
    #: The receive window of TCP.
    window: str


DIRECPC = Network("700 kbit/s", "50 kbit/s", 375, "25 packets", 0.0002, 1, "240 kB")
RICOCHET = Network("32 kbit/s", "32 kbit/s", 350, "60 kB", 0, 0.1, "240 kB")
PRINTED = {"DirecPC": (DIRECPC, (480, 2.8), (370, 7.6)), "Ricochet": (RICOCHET, (28.1, 0.6), (27.1, 0.9))}

WINDOW = (
    "with the 240 kB of section 4.2.2 TCP is as fast as STP; a window of 22.5 kB, which is stated nowhere, would give the printed number"
)
KNOWN = {
    ("DirecPC", "TCP", "forward"): WINDOW,
    ("DirecPC", "TCP", "reverse"): WINDOW,
    ("DirecPC", "STP", "TCP"): WINDOW,
    ("Ricochet", "STP", "TCP"): "both fill the 32 kbit/s that were chosen for the printed rates: 28.8 and 28.9 kbit/s",
    ("Ricochet", "STP", "RTT"): "100 kB at 28 kbit/s end before a queue of 15 s is full: 8.3 s",
}
#: Bounds of the ratio of STP's goodput to TCP's.
FASTER = {"DirecPC": (1.1, 1.5, "faster; half of the gain and twice"), "Ricochet": (1, 1.15, "faster, as the text says; three digits")}


class Means(NamedTuple):
    goodput_kbps: float
    return_kbps: float
    rtt_max_s: float


@lru_cache(maxsize=None)
def measure(network: Network, transport: str) -> Means:
    """Means over transfers, of the goodput and the return bandwidth of each."""
    n = network
    limit = toml({"kind": "drop-tail", "limit": n.queue})
    loss = f'loss.kind = "packets"\nloss.probability = {n.loss}' if n.loss else ""
    text = (
        head(600, 600)
        + f"""
        [links.satellite]
        rate = "{n.down}"
        delay = "{n.rtt_ms / 2:g} ms"
        queue = {limit}
        {loss}
        reverse.rate = "{n.up}"
        reverse.queue.kind = "drop-tail"
        reverse.queue.limit = "50 packets"
        reverse.loss.kind = "none"
        [[flows]]
        name = "transfer"
        path = ["server", "satellite", "user"]
        transport = {transport}
        traffic.kind = "bulk"
        traffic.size = "{n.megabytes * 1e3:g} kB"
        """
    )
    flows = [run_text(text, seed).summary["flows"]["transfer"] for seed in range(1, RUNS + 1)]
    seconds = np.array([f["completed_s"] for f in flows], dtype=float)
    back = np.array([f["return_bytes"] for f in flows]) * 8e-3 / seconds
    return Means(float(np.mean(n.megabytes * 8e3 / seconds)), float(np.mean(back)), max(f["rtt_max_s"] for f in flows))


def reproduce() -> Reproduction:
    rows, ours = [], {}
    for name, (network, *printed) in PRINTED.items():
        stp, tcp = (measure(network, toml(transport)) for transport in (STP, TCP | {"window": network.window}))
        ours[name] = (stp, tcp)
        for protocol, m, (goodput, back) in (("STP", stp, printed[0]), ("TCP", tcp, printed[1])):
            rows.append(
                Row(
                    f"{name}, {protocol}: forward", "kbit/s", goodput, m.goodput_kbps, 0.8 * goodput, 1.2 * goodput,
                    "a fifth: several transfers over public networks, without an interval", KNOWN.get((name, protocol, "forward"), "")
                )
            )
            rows.append(
                Row(
                    f"{name}, {protocol}: reverse", "kbit/s", back, m.return_kbps, 0.6 * back, 1.5 * back,
                    "a fifth of the goodput, and headers of Internet paths, which are not stated",
                    KNOWN.get((name, protocol, "reverse"), "")
                )
            )
        (a, x), (b, y) = printed
        least, most, why = FASTER[name]
        rows.append(
            Row(
                f"{name}: STP over TCP, forward", "times", a / b, stp.goodput_kbps / tcp.goodput_kbps, least, most, why,
                KNOWN.get((name, "STP", "TCP"), "")
            )
        )
        rows.append(
            Row(
                f"{name}: STP over TCP, reverse", "times", x / y, stp.return_kbps / tcp.return_kbps, 0.25, 0.85,
                "less, as the text says; two columns of one digit", KNOWN.get((name, "back", "back"), "")
            )
        )
    stp, tcp = ours["Ricochet"]
    rows.append(Row("Ricochet, STP: largest RTT", "s", 15, stp.rtt_max_s, 12, 18, "a fifth", KNOWN["Ricochet", "STP", "RTT"]))
    delay = measure(RICOCHET, toml({"kind": "stp"}))
    narrow = measure(DIRECPC, toml(TCP | {"window": "22.5 kB"}))
    remarks = [
        "DirecPC: 700 kbit/s and a queue of 25 packets (or 50) give STP's 480 kbit/s. Receivers have 240 kB, as section 4.2.2 "
        f"says of them. With 22.5 kB TCP would have {narrow.goodput_kbps:.0f} kbit/s and {narrow.return_kbps:.1f} back, which are the "
        "printed ones. Losses explain less: with 0.2 to 0.3 % over 1 and 2 Mbit/s STP has "
        "0.85 to 0.95 of TCP's goodput. Ricochet: 32 kbit/s for TCP's 27.1, 60 kB of queue for 15 s.",
        f"Ricochet with the mode that backs off as RTTs grow, which the thesis asks for: {delay.goodput_kbps:.1f} kbit/s, "
        f"largest RTT {delay.rtt_max_s:.1f} s.",
    ]
    return Reproduction(rows, draw(ours), remarks)


def draw(ours):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
    for ax, (name, (_, *printed)) in zip(axes, PRINTED.items()):
        values = [v for m in ours[name] for v in m[:2]]
        labels = ["STP\nforward", "STP\nback", "TCP\nforward", "TCP\nback"]
        ax.bar(labels, values, 0.6, color=["0.35", "0.7"] * 2)
        ax.plot(labels, [v for pair in printed for v in pair], "D", color="#cf222e", markersize=4)
        ax.set(title=name, ylabel="kbit/s", yscale="log")
    return figure
