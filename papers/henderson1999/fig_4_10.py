"""HT figure 4.10: fairness of the whole network by K, when one long flow increases its window by K.

Follows section 4.1.5: SACK, RED; the longest flow of each topology, and the one of 300 ms of topology 2.
Differs: see `heterogeneous.py`; topology 1 has a long flow of 600 ms.
Several such flows at once, and congestion on the way back, have no numbers in the text: their rows are words.
"""

from __future__ import annotations

from functools import lru_cache

from heterogeneous import DASHES, Outcome, Setting, all_of, increase_by, left_open, replace, seeds_of
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.10 and section 4.1.5"
CLAIM = "The gain of a long flow grows steadily with K; fairness of the network improves for small K, and utilisation hardly changes"

KS = (1, 2, 4, 8, 16, 32)
CASES = {"topology 1": (1, 600), "topology 2": (2, 600), "topology 2, 300 ms": (2, 300), "topology 3": (3, 300)}
#: Fairness gained at K = 4; with two flows the possible gain is larger than with ten.
GAINED = ((0.05, 0.25), (0.02, 0.08), (0.015, 0.06), (0.007, 0.03))
NEWRENO = Setting(stack="newreno", queue="fifo")


def reproduce() -> Reproduction:
    rows = []
    for name, ((topology, rtt), gained) in zip(CASES, zip(CASES.values(), GAINED)):
        row = by_k(topology, rtt)
        base = row[1]
        long = [outcome.kbps[Setting(topology=topology).rtts.index(rtt)] for outcome in row.values()]
        rows += [
            Row(
                f"{name}: the flow's gain at K = 4", "times", None, long[KS.index(4)] / long[0], 1.3, 4,
                "words: steady gains; K is the ceiling"
            ),
            Row(
                f"{name}: its gain at 32 over that at 4", "times", None, long[-1] / long[KS.index(4)], 1.05, 5,
                "words: gains all the way; seeds move a flow by 4 %"
            ),
            Row(
                f"{name}: fairness gained at K = 4", "", None, row[4].jain_all - base.jain_all, *gained,
                "words: improves in all topologies; half to twice what seeds and web loads give"
            ),
            Row(
                f"{name}: utilisation lost, most up to K = 8", "", 0, max(base.utilisation - row[k].utilisation for k in (2, 4, 8)),
                -0.01, 0.01, "words: held; seeds move a point by 0.005"
            ),
        ]
    falls = max(by_k(*case)[8].jain_all - by_k(*case)[32].jain_all for case in CASES.values())
    rows.append(
        Row(
            "largest fall of fairness from K = 8 to 32 (some topologies)", "", None, falls, 0.02, 0.15,
            "words: decreased; what can be seen in the figure"
        )
    )
    drop_tail = all_of([NEWRENO, replace(NEWRENO, increase=increase_by(4), on_rtt_ms=600)], 6)
    rows.append(
        Row(
            "NewReno, FIFO: the flow's gain at K = 4", "times", 1.5, drop_tail[1].kbps[-1] / drop_tail[0].kbps[-1], 1.25, 1.75,
            "half of the gain either way; six seeds move it by 0.1"
        )
    )
    rows += together()
    return Reproduction(rows, draw(), sensitivity=[left_open(topology) for topology in (1, 2, 3)])


def together() -> list[Row]:
    """Three flows of topology 2 that increase by 4 at once, and one while the way back is congested too."""
    usual, alone = by_k(2, 600)[1], by_k(2, 600)[4]
    base = Setting(increase=increase_by(4))
    congested = Setting(both_ways=True)
    three, back, faster = all_of(
        [replace(base, on_rtt_ms=(200, 300, 600)), congested, replace(congested, increase=increase_by(4), on_rtt_ms=600)], seeds_of(2)
    )
    gains = [three.kbps[i] / usual.kbps[i] for i in (3, 4, 5)]
    of_one = alone.kbps[-1] / usual.kbps[-1]
    return [
        Row(
            "three flows at once: least gain at K = 4", "times", None, min(gains), 1.05, 3,
            "words: each improves; seeds move a flow by 4 %, and K is the ceiling"
        ),
        Row(
            "three flows at once: gain of 600 ms, over that alone", "", None, gains[-1] / of_one, 0.5, 0.98,
            "words: less than alone; three of six cannot all take what the short flows have"
        ),
        Row(
            "congested both ways: the flow's gain at K = 4", "times", None, faster.kbps[-1] / back.kbps[-1], 1.3, 4,
            "words: main results hold, as without"
        ),
        Row(
            "congested both ways: fairness gained at K = 4", "", None, faster.jain_all - back.jain_all, 0.01, 0.09,
            "words: main results hold; half to twice what is gained without"
        ),
    ]


@lru_cache(maxsize=None)
def by_k(topology: int, rtt_ms: int) -> dict[int, Outcome]:
    base = Setting(topology=topology)
    settings = [base, *(replace(base, increase=increase_by(k), on_rtt_ms=rtt_ms) for k in KS[1:])]
    return dict(zip(KS, all_of(settings, seeds_of(topology))))


def draw():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, case), dash in zip(CASES.items(), DASHES):
        ax.semilogx(KS, [o.jain_all for o in by_k(*case).values()], dash, base=2, color="0.1", marker="o", markersize=3, label=name)
    ax.set_xticks(KS, [str(k) for k in KS])
    ax.set(xlabel="K", ylabel="Jain's index of fairness, all long flows")
    ax.legend(frameon=False)
    return figure
