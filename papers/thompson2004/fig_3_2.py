"""TH figure 3.2: the larger initial window by segment size.

Follows section 3.5.1: min(4 MSS, max(2 MSS, 4380 bytes)), and a simulated sender with that window.
Differs: the figure prints no numbers; those under published follow from the rule.
Leaves out nothing that the figure shows.
"""

from __future__ import annotations

from rows import Reproduction, Row

import skyhop
from skyhop import theory

SOURCE = "Thompson 2004, figure 3.2"
CLAIM = "Small segments start with four, those of 1095 to 2190 bytes with 4380 bytes, large ones with two"

PUBLISHED = {100: 400, 536: 2144, 1000: 4000, 1095: 4380, 1460: 4380, 2190: 4380, 4312: 8624, 9140: 18280}


def reproduce() -> Reproduction:
    rows = []
    for mss, published in PUBLISHED.items():
        rows.append(Row(f"MSS {mss} B", "B", published, theory.initial_window(mss), published, published, "the rule", of="rule"))
    # A sender does not split a segment to fill its window.
    for mss in (536, 1460, 4312):
        rows.append(
            Row(
                f"MSS {mss} B: sent before the first acknowledgment", "B", PUBLISHED[mss], sent(mss), PUBLISHED[mss], PUBLISHED[mss],
                "the rule, in whole segments", of="rule"
            )
        )
    return Reproduction(rows, draw(), sensitivity=["Nothing: the rule has no parameter."])


def sent(mss: int) -> float:
    """Payload in flight just before the first acknowledgment of data: a handshake and half a round trip after the start."""
    scenario = {
        "host": "1999",
        "duration": "1 s",
        "record": {"sample_interval": "50 ms"},
        "links": {"path": {"rate": "1 Gbit/s", "delay": "250 ms", "queue": {"kind": "drop-tail", "limit": "100 packets"}}},
        "flows": [
            {
                "name": "flow",
                "path": ["a", "path", "b"],
                "traffic": {"kind": "bulk"},
                "transport": {"kind": "tcp", "mss": f"{mss} B", "initial_window": f"{theory.initial_window(mss)} B", "window": "1 MB"},
            }
        ],
    }
    t, flight = skyhop.run(scenario).sample("flow/flow", "in_flight_bytes")
    return float(flight[(t > 0.6) & (t < 0.95)].max())


def draw():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    sizes = range(50, 4500, 5)
    ax.plot(sizes, [theory.initial_window(mss) for mss in sizes], "-", color="0.1", label="initial window")
    ax.plot(sizes, [float(mss) for mss in sizes], ":", color="0.5", label="one segment")
    ax.set(xlabel="segment (bytes)", ylabel="bytes", ylim=(0, None))
    ax.legend(frameon=False)
    return figure
