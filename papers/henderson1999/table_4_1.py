"""HT table 4.1: effect of a faster growing window (increase by 4) of one long flow on it and on the others.

Follows section 4.1.5: topology 2, SACK, RED; throughput of the four longest flows, utilisation and fairness.
Differs: see `heterogeneous.py`; ten seeds, where the thesis has about fifty runs.
Leaves out the two shortest flows, as the table does.
"""

from __future__ import annotations

from heterogeneous import Setting, all_of, increase_by, replace
from rows import Reproduction, Row

SOURCE = "Henderson 1999, table 4.1"
CLAIM = (
    "An increase by 4 for one long flow about doubles its throughput and raises fairness, with little effect on utilisation and the "
    "other flows"
)

SEEDS = 10
SPREAD = "ten seeds, and a web load that is not the thesis's: other loads move flows by up to 20 % and fairness by 0.04"
CASES = {
    "usual": (None, 0.807, {600: 68.1, 300: 116.2, 200: 156.6, 100: 217.1}),
    "by 4 on 300 ms": (300, 0.861, {600: 59.6, 300: 240.8, 200: 139.8, 100: 188.1}),
    "by 4 on 600 ms": (600, 0.873, {600: 138.7, 300: 109.1, 200: 151.6, 100: 207.0}),
}


def reproduce() -> Reproduction:
    usual = Setting()
    settings = [replace(usual, increase=increase_by(4) if on else "", on_rtt_ms=on) for on, *_ in CASES.values()]
    outcomes = dict(zip(CASES, all_of(settings, SEEDS)))
    rows = []
    for name, (_, fairness, flows) in CASES.items():
        ours = outcomes[name]
        rows.append(
            Row(f"{name}: utilisation", "", 0.99, ours.utilisation, 0.98, 1.005, "a unit of the last digit; a packet in service is 0.001")
        )
        rows.append(Row(f"{name}: fairness", "", fairness, ours.jain, fairness - 0.04, fairness + 0.04, SPREAD))
        for rtt, kbps in flows.items():
            rows.append(Row(f"{name}: flow of {rtt} ms", "kbit/s", kbps, at(ours, rtt), 0.8 * kbps, 1.2 * kbps, SPREAD))
    for name in list(CASES)[1:]:
        gain, there = outcomes[name].jain - outcomes["usual"].jain, CASES[name][1] - 0.807
        rows.append(Row(f"{name}: fairness gained", "", there, gain, 0.5 * there, 1.5 * there, "half of it: two spreads of ten seeds"))
        lost = outcomes["usual"].utilisation - outcomes[name].utilisation
        rows.append(Row(f"{name}: utilisation lost", "", 0, lost, -0.01, 0.01, "a unit of the last digit"))
    other = {
        "transfers of 40 packets as web load": replace(usual, web_packets=40),
        "no web load": replace(usual, web_load=0),
        "a clock of 500 ms": replace(usual, clock_ms=500),
    }
    sensitivity = "; ".join(
        f"{name}: " + ", ".join(f"{rtt} ms {at(ours, rtt):.0f}" for rtt in (600, 300, 200, 100)) + f", fairness {ours.jain:.3f}"
        for name, ours in zip(other, all_of(list(other.values()), SEEDS))
    )
    return Reproduction(
        rows,
        draw(outcomes),
        [
            "ns-2.35 with the same web load as ours: usual 71.0, 117.1, 150.3, 215.2 and 0.809; by 4 on 600 ms 126.4, 117.2, 138.9, "
            "202.8 and 0.859."
        ],
        [f"Usual growth, kbit/s. {sensitivity}."],
    )


def at(outcome, rtt_ms: int) -> float:
    return outcome.kbps[Setting().rtts.index(rtt_ms)]


def draw(outcomes):
    import matplotlib.pyplot as plt
    import numpy as np

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    rtts = (600, 300, 200, 100)
    for i, ((name, outcome), shade) in enumerate(zip(outcomes.items(), ("0.25", "0.55", "0.8"))):
        x = np.arange(len(rtts)) + 0.27 * (i - 1)
        ax.bar(x, [at(outcome, rtt) for rtt in rtts], 0.25, color=shade, label=name)
        ax.plot(x, [CASES[name][2][rtt] for rtt in rtts], "D", color="#cf222e", markersize=4, label="published" if i == 0 else None)
    ax.set_xticks(range(len(rtts)), [f"{rtt} ms" for rtt in rtts])
    ax.set(ylabel="throughput (kbit/s)", title="topology 2, SACK, RED")
    ax.legend(frameon=False)
    return figure
