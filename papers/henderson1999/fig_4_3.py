"""HT figure 4.3: segments sent over time by flows of two round trips, with the usual growth of the window and Floyd's constant rate.

Follows section 4.1.1: no losses; a round trip sends a window, which grows by 1 or by c RTT^2 segments a round trip.
Differs: the round trips (100 and 400 ms) and c (25) are ours, since the text states neither.
Leaves out slow start, as the formula does.
"""

from __future__ import annotations

import numpy as np
from heterogeneous import constant_rate
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 4.3 and section 4.1.1"
CLAIM = (
    "With the standard window growth a flow's rate falls with the square of its round trip; with a constant rate increase all flows "
    "get the same"
)

RTTS_MS = (100, 400)
C = 25.0
MSS_B = 1000
END_S = 60

SCENARIO = """
host = "1999"
duration = "60 s"
record = { sample_interval = "100 ms" }
[links.path]
rate = "1 Gbit/s"
delay = "50 ms"
queue = { kind = "drop-tail", limit = "100000 packets" }
[[flows]]
name = "flow"
path = ["a", "path", "b"]
traffic = { kind = "bulk" }
[flows.transport]
kind = "tcp"
variant = "sack1"
mss = "1000 B"
window = "100000 segments"
initial_ssthresh = "1 segments"
delayed_ack = { kind = "none" }
"""


def reproduce() -> Reproduction:
    one, rate = '{ kind = "one" }', constant_rate(C)
    usual, constant = ({rtt: simulated(rtt, law) for rtt in RTTS_MS} for law in (one, rate))
    short, long = RTTS_MS
    last = {name: {rtt: flow[1][-1] for rtt, flow in flows.items()} for name, flows in (("u", usual), ("c", constant))}
    growth = {"u": lambda _: 1.0, "c": lambda rtt: C * (rtt / 1e3) ** 2}
    rows = [
        # Growth by the inverse of a growing window is slightly below the formula, mostly at the beginning.
        Row(
            f"segments of {rtt} ms in {END_S} s, {label}, over the formula's", "", 1,
            last[name][rtt] / formula(END_S - rtt / 1e3, rtt, growth[name](rtt)), 0.9, 1.02,
            "growth by the inverse of a growing window lags the formula by up to a tenth at small windows; a sample is 2 %",
            of="formula"
        )
        for name, label in (("u", "usual"), ("c", "constant rate"))
        for rtt in RTTS_MS
    ]
    rows += [
        Row(
            f"{short} over {long} ms, usual", "", (long / short) ** 2, last["u"][short] / last["u"][long], 14, 18,
            "both flows lag the formula, the slow one by 3.5 % more; as much again", of="formula"
        ),
        Row(
            f"{short} over {long} ms, constant rate", "", 1, last["c"][short] / last["c"][long], 0.95, 1.15,
            "each flow lags by up to a tenth, not equally", of="formula"
        ),
    ]
    wider = {rtt: simulated(rtt, one, first=10)[1][-1] for rtt in RTTS_MS}
    faster = {rtt: simulated(rtt, constant_rate(100))[1][-1] for rtt in RTTS_MS}
    open_ = (
        f"The first window is a segment, c is {C:g}, which makes a flow of 200 ms grow as usual. {short} over {long} ms, usual, "
        f"with a first window of 10 segments: {wider[short] / wider[long]:.2f} in place of {last['u'][short] / last['u'][long]:.2f}; "
        f"constant rate with c = 100: {faster[short] / faster[long]:.3f} in place of {last['c'][short] / last['c'][long]:.3f}."
    )
    return Reproduction(rows, draw(usual, constant), ["The formula counts from the end of the handshake here."], [open_])


def simulated(rtt_ms: float, increase: str, first: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Times, and acknowledged segments."""
    tcp = {"increase": increase, "initial_window": f"{first} segments"}
    changes = {
        "duration": f"{END_S} s",
        "links.path.delay": f"{rtt_ms / 2} ms",
        **{f"flows.flow.transport.{key}": value for key, value in tcp.items()},
    }
    t, acked = skyhop.run(text=SCENARIO, set=changes).sample("flow/flow", "bytes_acked")
    return t, acked / MSS_B


def formula(t: float, rtt_ms: float, growth: float) -> float:
    """Segments in the windows of all round trips up to `t` after the handshake; the first window is one segment."""
    rounds = max(0, round(t / (rtt_ms / 1e3)))
    return rounds + growth * rounds * (rounds - 1) / 2


def draw(usual, constant):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained", sharey=True)
    for ax, flows, title, growth in zip(
        axes, (usual, constant), ("increase by one", "constant rate"), (lambda _: 1.0, lambda r: C * (r / 1e3) ** 2)
    ):
        for (rtt, (t, segments)), dash in zip(flows.items(), ("-", "--")):
            ax.plot(t, segments, dash, color="0.1", label=f"{rtt} ms")
            ax.plot(t, [formula(x - rtt / 1e3, rtt, growth(rtt)) for x in t], dash, color="0.7", linewidth=0.8)
        ax.set(xlabel="time (s)", title=title)
        ax.legend(frameon=False)
    axes[0].set_ylabel("segments (grey: the formula)")
    return figure
