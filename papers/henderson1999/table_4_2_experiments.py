"""HT table 4.2: the experiments' means, of transfers with the sizes of the web of 1995.

Follows sections 4.2.2 and 4.2.4: requests and replies over 1.3 Mbit/s, BSD hosts whose delayed acknowledgments go by a clock of 200 ms.
Differs: simulated; a hundred thousand transfers, the thesis a thousand; sizes are the fit to Mah's replies, none left out.
Leaves out the processing time of the thesis's hosts and servers, which its text does not state.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from rows import Reproduction, Row
from satellite import run_text

from skyhop import theory

SOURCE = "Henderson 1999, table 4.2, experimental means"
CLAIM = "The analysis of T/TCP and the larger window also holds for transfers over a link of 1.3 Mbit/s"

RTTS_MS = {"GEO": 600, "LEO": 80}
#: T/TCP, larger initial window.
KINDS = {"TCP": (False, False), "T/TCP": (True, False), "4KSS": (False, True), "both": (True, True)}
PRINTED = {
    ("GEO", 1500): (2.0, 1.4, 1.6, 1.0),
    ("GEO", 500): (2.6, 2.0, 1.9, 1.3),
    ("LEO", 1500): (0.37, 0.28, 0.25, 0.16),
    ("LEO", 500): (0.55, 0.47, 0.31, 0.23),
}
ACCEPTED_S = {"GEO": 0.15, "LEO": 0.06}
WHY = {
    "GEO": "half of the last digit, and a thousand heavy-tailed transfers: 0.1 s",
    "LEO": "half of the last digit, a thousand transfers, and hosts' processing, which the thesis does not give: 0.05 s",
}
TRANSFERS = 1000
#: A thousand transfers have a standard deviation of 0.01 (LEO) to 0.04 s (GEO), so that means are within 0.001 to 0.004 s.
SEEDS = 100
CLOCK, ONE_SHOT, EACH = '{ kind = "heartbeat", period = "200 ms" }', '{ kind = "one-shot", timeout = "200 ms" }', '{ kind = "none" }'


def reproduce() -> Reproduction:
    rows, ours = [], {}
    for (orbit, wire), printed in PRINTED.items():
        for (kind, (at_once, large)), value in zip(KINDS.items(), printed):
            got = mean(RTTS_MS[orbit], wire - 40, at_once, large)
            ours[orbit, wire, kind] = got
            accepted = ACCEPTED_S[orbit]
            known = KNOWN.get((orbit, wire, kind), "")
            rows.append(Row(f"{orbit}, {wire} B, {kind}: mean", "s", value, got, value - accepted, value + accepted, WHY[orbit], known))
    other = {"acknowledgments after 200 ms, not by a clock": mean(600, 1460, False, False, ONE_SHOT, 4)}
    each = [mean(600, 460, at_once, False, EACH, 4) for at_once in (False, True)]
    remark = f"GEO, 1500 B, TCP: {ours['GEO', 1500, 'TCP']:.2f} s; " + "; ".join(f"{name} {value:.2f}" for name, value in other.items())
    remark += f". Without delayed acknowledgments GEO, 500 B: TCP {each[0]:.2f}, T/TCP {each[1]:.2f}."
    return Reproduction(rows, draw(ours), sensitivity=[remark])


SMALL = "the printed value fits hosts that acknowledge each segment of 500 bytes: ours then take 2.58 and 1.99 s"
ONE_RTT = (
    "in the thesis's experiments T/TCP saved only a round trip (0.37 - 0.28, 0.55 - 0.47 s), although its analysis and ours also save "
    "the delayed acknowledgment of the first segment"
)
KNOWN = {("GEO", 500, "TCP"): SMALL, ("GEO", 500, "T/TCP"): SMALL, ("LEO", 1500, "T/TCP"): ONE_RTT, ("LEO", 500, "T/TCP"): ONE_RTT}


@lru_cache(maxsize=None)
def mean(rtt_ms: int, mss: int, at_once: bool, large: bool, ack: str = CLOCK, seeds: int = SEEDS) -> float:
    return float(np.mean([thousand(rtt_ms, mss, at_once, large, ack, seed) for seed in range(1, seeds + 1)]))


def thousand(rtt_ms: int, mss: int, at_once: bool, large: bool, ack: str, seed: int) -> float:
    """A thousand transfers with a seed."""
    window = theory.initial_window(mss) if large else mss
    opening = 'open = { kind = "t-tcp", known = true }' if at_once else ""
    run = run_text(
        f"""
        host = "1999"
        duration = "{TRANSFERS * 60} s"
        record.sample_interval = "1000 s"
        [links.ethernet]
        between = ["client", "near"]
        rate = "10 Mbit/s"
        delay = "0.1 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [links.satellite]
        between = ["near", "far"]
        rate = "1.3 Mbit/s"
        delay = "{rtt_ms / 2 - 0.2:g} ms"
        queue.kind = "drop-tail"
        queue.limit = "50 packets"
        [links.transit]
        between = ["far", "server"]
        rate = "100 Mbit/s"
        delay = "0.1 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [[flows]]
        name = "web"
        from = "client"
        to = "server"
        [flows.traffic]
        kind = "request-response"
        reply.kind = "mah"
        request.kind = "mah"
        think.kind = "uniform"
        think.least = "10 s"
        think.most = "12 s"
        count = {TRANSFERS}
        [flows.transport]
        kind = "tcp"
        mss = "{mss} B"
        window = "240 kB"
        initial_window = "{window} B"
        limited_transmit = false
        rto_initial = "3 s"
        rto_granularity = "500 ms"
        delayed_ack = {ack}
        {opening}
        """,
        seed,
    )
    web = run.summary["flows"]["web"]
    if web["completed"] != TRANSFERS:
        raise RuntimeError(f"{web['completed']} of {TRANSFERS} transfers completed")
    return web["completion_mean_s"]


def draw(ours):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
    for ax, orbit in zip(axes, RTTS_MS):
        for i, (wire, shade) in enumerate(((1500, "0.35"), (500, "0.7"))):
            x = np.arange(len(KINDS)) + 0.4 * (i - 0.5)
            ax.bar(x, [ours[orbit, wire, kind] for kind in KINDS], 0.36, color=shade, label=f"{wire} B")
            ax.plot(x, PRINTED[orbit, wire], "D", color="#cf222e", markersize=4)
        ax.set_xticks(range(len(KINDS)), list(KINDS))
        ax.set(title=orbit, ylabel="mean time of a transfer (s)")
        ax.legend(frameon=False)
    return figure
