"""TH figure 3.3: time in which slow start fills a path, by its delay, with and without delayed acknowledgments.

Follows section 3.5.7: a fixed rate, an acknowledgment for every second segment or for each.
Differs: the rate is not in the text; ours is 1 Mbit/s with packets of 1000 bytes, and the closed form stands under published.
Leaves out the wait of up to 500 ms for a lone segment: windows begin at two.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row

import skyhop
from skyhop import theory

SOURCE = "Thompson 2004, figure 3.3"
CLAIM = "The time to fill a path grows faster than its delay, and an acknowledgment for every second segment makes it longer"

RATE_BPS = 1e6
PACKET_B = 1000
RTTS_MS = (20, 50, 100, 200, 300, 400, 500)
ACKS = {"each segment": 1, "every second": 2}


def reproduce() -> Reproduction:
    ours = {name: [simulated(rtt / 1e3, every) for rtt in RTTS_MS] for name, every in ACKS.items()}
    rows = []
    for name, every in ACKS.items():
        for rtt, took in zip(RTTS_MS, ours[name]):
            if rtt in (100, 300, 500):
                # The closed form has whole round trips; acknowledgments of the last window are spread over one, and an odd one is delayed.
                formula = theory.time_to_fill(RATE_BPS, rtt / 1e3, packet=PACKET_B, initial_window=2, ack_every=every)
                rows.append(
                    Row(
                        f"{name}, RTT {rtt} ms", "s", formula, took, formula - rtt / 1e3, formula + 1.5 * rtt / 1e3,
                        "whole round trips, and an acknowledgment that waits", of="formula"
                    )
                )
    each, second = (np.array(values) for values in ours.values())
    rows.append(
        Row(
            "RTT 500 ms: every second over each", "times", None, second[-1] / each[-1], 1.4, 2,
            "words: longer; growth by 1.5 in place of 2 is 1.7"
        )
    )
    rows.append(
        Row(
            "500 ms over 100 ms, each", "times", None, each[-1] / each[RTTS_MS.index(100)], 5.5, 12,
            "words: faster than the delay, which is five times; log2 of five is added to three doublings"
        )
    )
    return Reproduction(rows, draw(ours), sensitivity=[left_open()])


def left_open() -> str:
    said = ", ".join(
        f"{mbps:g} Mbit/s {simulated(0.5, 1, mbps * 1e6):.2f} and {simulated(0.5, 2, mbps * 1e6):.2f} s" for mbps in (0.5, 1, 4)
    )
    return f"The rate: 1 Mbit/s. Acknowledging each and every second segment over 500 ms: {said}."


def simulated(rtt_s: float, ack_every: int, rate_bps: float = RATE_BPS) -> float:
    """Seconds from the end of the handshake until the window is rate times RTT."""
    scenario = {
        "host": "1999",
        "duration": f"{40 * rtt_s:g} s",
        "record": {"sample_interval": f"{rtt_s * 10:g} ms"},
        "links": {
            "path": {
                "rate": f"{rate_bps / 1e6:g} Mbit/s",
                "delay": f"{rtt_s * 500:g} ms",
                "queue": {"kind": "drop-tail", "limit": "1000 packets"},
            }
        },
        "flows": [
            {
                "name": "flow",
                "path": ["a", "path", "b"],
                "traffic": {"kind": "bulk"},
                "transport": {
                    "kind": "tcp",
                    "mss": f"{PACKET_B - 40} B",
                    "window": "1 MB",
                    "delayed_ack": {"kind": "none"} if ack_every == 1 else {"kind": "one-shot", "timeout": "200 ms"},
                    "rto_initial": "3 s",
                },
            }
        ],
    }
    t, window = skyhop.run(scenario).sample("flow/flow", "cwnd_bytes")
    full = window / (PACKET_B - 40) * PACKET_B * 8 >= rate_bps * rtt_s
    return float(t[np.argmax(full)]) - rtt_s if full.any() else float("nan")


def draw(ours: dict[str, list[float]]):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for (name, every), dash in zip(ACKS.items(), ("-", "--")):
        ax.plot(RTTS_MS, ours[name], dash + "o", color="0.1", markersize=4, label=f"acknowledging {name}")
        formula = [theory.time_to_fill(RATE_BPS, rtt / 1e3, packet=PACKET_B, initial_window=2, ack_every=every) for rtt in RTTS_MS]
        ax.plot(RTTS_MS, formula, dash, color="0.7", linewidth=0.8)
    ax.set(xlabel="RTT (ms)", ylabel="time to fill (s; grey: closed form)", title="1 Mbit/s")
    ax.legend(frameon=False)
    return figure
