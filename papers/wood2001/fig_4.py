"""WP figure 4: goodput over several paths against TCP's threshold of duplicate acknowledgments.

Follows the section on TCP in the satellite environment: see `mesh.py`; delayed acknowledgments of 200 ms.
Differs: the paper prints curves without numbers and no window; ours is 40 segments, and others are tried.
Leaves out a reading of the curves' points.
"""

from __future__ import annotations

import numpy as np
from mesh import DELAY, HEARTBEAT, NO_DELAY, SCENARIO, SYSTEMS, VARIANTS, goodputs, mean
from rows import Reproduction, Row

import skyhop

SOURCE = "Wood et al. 2001, figure 4"
CLAIM = "Several paths reduce goodput without any loss; a higher duplicate threshold restores it, a lower one reduces it further"

THRESHOLDS = (1, 2, 3, 4, 5, 6, 8, 10, 12)


def reproduce() -> Reproduction:
    rows, knees, alike = settings(), [], 0
    for system, name in SYSTEMS.items():
        for variant, label in VARIANTS.items():
            what = f"{label}, {name}"
            single = goodputs(system, variant, "shortest")
            curve = np.array([goodputs(system, variant, threshold=n) for n in THRESHOLDS])
            share = curve.mean(axis=1) / single.mean()
            rows += [
                Row(
                    f"{what}: several paths over one, threshold 3", "", None, share[THRESHOLDS.index(3)], 0.3, 0.98,
                    "words: less than one path; eight instants move a mean by 0.02"
                ),
                Row(
                    f"{what}: several paths over one, threshold 12", "", 1, share[-1], 0.9, 1.005,
                    "words: approaches one path; its mean delay is longer by up to a tenth"
                ),
                Row(
                    f"{what}: lost by threshold 1, of what threshold 3 has", "", None, 1 - share[0] / share[THRESHOLDS.index(3)], 0.15,
                    0.98, "words: falls below three; drawn: by a sixth and more"
                ),
                Row(
                    f"{what}: largest fall as the threshold rises", "%", 0, 100 * largest_fall(share), 0, 2,
                    "words: rises with it; eight instants move a mean by 2 %"
                ),
            ]
            alike += share[2] < 0.98 and share[-1] > 0.9 and share[0] < share[2] and largest_fall(share) < 0.02
            reached = curve >= 0.95 * curve[-1]
            knees.append((what, [THRESHOLDS[np.argmax(column)] for column in reached.T]))
    rows.append(
        Row(
            "curves that lie and rise as the paper's, share of four", "", 1, alike / 4, 1, 1,
            "words: below one path at 3, rising towards it with the threshold, lower below 3"
        )
    )
    remarks = [
        "By the instant the plateau begins at thresholds of " + "; ".join(f"{what} {min(k)} to {max(k)}" for what, k in knees) + ".",
        sensitivity("window of {} segments", "window", (20, 40, 80)),
        sensitivity("acknowledgments {}", "acks", (DELAY, HEARTBEAT), ("after 200 ms at most", "at beats of 200 ms")),
        "With flows spread by a hash in place of packets: " + "; ".join(by_flow(system) for system in SYSTEMS) + ".",
    ]
    return Reproduction(rows, draw(), [remarks[0], remarks[3]], remarks[1:3])


def settings() -> list[Row]:
    """The text's numbers of the network and of TCP, as measured in a run."""
    changes = {"constellation.preset": "teledesic", "routing.scheme": "multipath"}
    run = skyhop.run(SCENARIO, set=changes).summary
    used = [link[way] for link in run["links"].values() for way in ("forward", "reverse")]
    full = run["links"]["gsl:quito"]["forward"]
    isl = max((link["forward"] for name, link in run["links"].items() if name.startswith("isl:")), key=lambda way: way["packets"])
    seconds = run["simulated_s"]

    def mbps(way: dict) -> float:
        return way["bytes"] * 8e-6 / (way["utilisation"] * seconds)

    # The first segment of a window of one waits for another, and none comes.
    first = changes | {"routing.scheme": "shortest", "flows.ftp.transport.initial_window": "1 segment"}
    slowest = [
        skyhop.run(SCENARIO, set=first | {"flows.ftp.transport.delayed_ack": acks}).summary["flows"]["ftp"]["rtt_max_s"]
        for acks in (DELAY, NO_DELAY)
    ]
    ended = sum(way["packets_lost"] + way["packets_dropped"] for way in used)
    digits = "the text's digits"
    return [
        Row("rate up and down", "Mbit/s", 5, mbps(full), 4.99, 5.01, digits),
        Row("rate between satellites", "Mbit/s", 10, mbps(isl), 9.9, 10.1, digits),
        Row("packet", "B", 1000, full["bytes"] / full["packets"], 995, 1000, "the SYN is smaller"),
        Row("length of a transfer", "s", 100, seconds, 100, 100, digits),
        Row("longest wait of an acknowledgment", "ms", 200, 1e3 * (slowest[0] - slowest[1]), 195, 205, "nothing else is under way"),
        Row("packets lost or dropped", "", 0, float(ended), 0, 0, "words: none"),
    ]


def largest_fall(share: np.ndarray) -> float:
    return float(max(0, *(share[:-1] - share[1:])))


def sensitivity(text: str, key: str, values: tuple, names: tuple | None = None) -> str:
    def one(value: object, shown: object) -> str:
        shares = [
            mean(system, variant, **{key: value}) / mean(system, variant, "shortest", **{key: value})
            for system in SYSTEMS
            for variant in VARIANTS
        ]
        return text.format(shown) + " " + ", ".join(f"{share:.2f}" for share in shares)

    order = ", ".join(f"{label} {name}" for name in SYSTEMS.values() for label in VARIANTS.values())
    return f"Threshold 3 over one path ({order}): " + "; ".join(map(one, values, names or values)) + "."


def by_flow(system: str) -> str:
    share = mean(system, "newreno", spread="flows") / mean(system, "newreno", "shortest")
    return f"{SYSTEMS[system]} {share:.2f} of one path's goodput at threshold 3 (NewReno)"


def draw():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax, (variant, label), letter in zip(axes, VARIANTS.items(), "ab"):
        for (system, name), color in zip(SYSTEMS.items(), ("0.1", "0.55")):
            curve = np.array([goodputs(system, variant, threshold=n) for n in THRESHOLDS])
            ax.fill_between(THRESHOLDS, curve.min(axis=1), curve.max(axis=1), color=color, alpha=0.15, linewidth=0)
            ax.plot(THRESHOLDS, curve.mean(axis=1), "o-", ms=3, color=color, label=f"{name}, several paths")
            ax.axhline(mean(system, variant, "shortest"), color=color, ls="--", lw=1, label=f"{name}, one path")
        ax.set(title=f"4{letter} {label}", xlabel="duplicates taken for a loss", ylim=(0, None))
    axes[0].set_ylabel("goodput (Mbit/s), mean and range over 8 instants")
    axes[1].legend(frameon=False, fontsize=8)
    return figure
