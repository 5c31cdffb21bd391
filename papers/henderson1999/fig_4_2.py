"""HT figure 4.2: five flows that share 1.5 Mbit/s, their progress over 60 s by their round trips.

Follows section 4.1.1: round trips of 10, 100, 200, 300 and 600 ms, segments counted and wrapped after 90.
Differs: the queue, which the thesis does not give here, is that of its section 4.1.2; there is no web load.
Leaves out nothing that the figure shows.
"""

from __future__ import annotations

import numpy as np
from heterogeneous import PACKET_B, RATE_BPS, Setting, replace, scenario
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 4.2 and section 4.1.1"
CLAIM = "The longer its round trip, the less a flow gets; the longest is far below its share of the bottleneck"

RTTS_MS = (10, 100, 200, 300, 600)
SETTING = Setting(rtts_ms=RTTS_MS, web_load=0, end_s=60)
SEEDS = range(1, 6)
FAIR_BPS = RATE_BPS / len(RTTS_MS)
FAR_BELOW = "words: far below its share, read as less than half; it is not locked out, read as a tenth"


def reproduce() -> Reproduction:
    red, fifo = ([trace(setting, seed) for seed in SEEDS] for setting in (SETTING, replace(SETTING, queue="fifo")))
    shares, drop_tail = (np.mean([share(flows) for flows in runs], axis=0) for runs in (red, fifo))
    rows = [
        Row(
            "steps of the round trip at which throughput falls, of 4", "", 4, int(np.sum(np.diff(shares) < 0)), 4, 4,
            "a count: every step, as the figure has it"
        ),
        Row(
            "RTT 10 ms, share of a fair share", "", None, shares[0], 1.3, 3,
            "words: above its share; at 3 the other four would have half of theirs"
        ),
        Row("RTT 600 ms, share of a fair share", "", None, shares[-1], 0.1, 0.5, FAR_BELOW),
        Row("RTT 600 ms, the same, drop-tail in place of RED", "", None, drop_tail[-1], 0.1, 0.5, FAR_BELOW),
    ]
    remark = "Shares of a fair share, RED: {}; drop-tail of 50 packets: {}.".format(
        *(", ".join(f"{rtt} ms {s:.2f}" for rtt, s in zip(RTTS_MS, each)) for each in (shares, drop_tail))
    )
    return Reproduction(rows, draw(red[0]), ["Means of five seeds; the first 10 s do not count."], [remark])


def trace(setting: Setting, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    run = skyhop.run(text=scenario(setting, seed, "100 ms"), seed=seed)
    series = [run.sample(f"flow/long-{i}", "bytes_acked") for i in range(len(RTTS_MS))]
    return [(t, acked / (PACKET_B - 40)) for t, acked in series]


def share(flows: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    late = [segments[-1] - segments[np.searchsorted(t, 10)] for t, segments in flows]
    return np.array(late) * PACKET_B * 8 / 50 / FAIR_BPS


def draw(flows: list[tuple[np.ndarray, np.ndarray]]):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(RTTS_MS), 1, figsize=(7, 6), layout="constrained", sharex=True)
    for ax, rtt, (t, segments) in zip(axes, RTTS_MS, flows):
        ax.plot(t, segments % 90, ".", color="0.1", markersize=1)
        ax.set(ylabel=f"{rtt} ms", ylim=(0, 90), yticks=[])
    axes[0].set_title("segments acknowledged, wrapped after 90")
    axes[-1].set(xlabel="time (s)", xlim=(0, 60))
    return figure
