"""HT figure 4.6: fairness at the bottleneck by the length of its queue, for NewReno and SACK, FIFO and RED.

Follows section 4.1.3: as figure 4.5, with Jain's index of the six long flows, and the text's statements on their shares.
Differs: see `heterogeneous.py`.
Leaves out the confidence intervals, with three runs a point, and sixty at 50 packets.
"""

from __future__ import annotations

from heterogeneous import benchmark, draw_benchmark, left_open
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.6 and section 4.1.3"
CLAIM = "SACK is fairer than NewReno, and RED fairer than FIFO; with each of them flows with long round trips get little"


SEEDS = "a fifth: drop-tail shares of short flows move by as much between seeds and web loads"
POINT = "words: from about 24 to 64; 10 to 20 kbit/s between seeds of one point"
ALIKE = (
    "over RED SACK and NewReno share alike: 0.805 and 0.806 with 30 seeds; 60 other seeds give 0.001 and 0.006 more"
)
FAIRER = "words: fairer; 0.19 is all that the benchmark leaves"


def reproduce() -> Reproduction:
    outcomes = benchmark()
    at_50 = {name: row[50] for name, row in benchmark((50,), 60).items()}
    fifo = at_50["NewReno, FIFO"]
    link = 1500.0
    longest = [outcome.kbps[-1] for outcome in outcomes["NewReno, FIFO"].values()]
    rows = [
        Row("NewReno, FIFO: the two short flows", "%", 50, 100 * sum(fifo.kbps[:2]) / link, 40, 60, SEEDS),
        Row("NewReno, FIFO: web load", "%", 20, 100 * fifo.web_kbps / link, 18, 22, "a tenth: Poisson arrivals of 300 s"),
        Row("NewReno, FIFO: the four long flows", "%", 30, 100 * sum(fifo.kbps[2:]) / link, 22, 42, SEEDS),
        Row("NewReno, FIFO: 600 ms, least of the queues", "kbit/s", 24, min(longest), 14, 34, POINT),
        Row("NewReno, FIFO: 600 ms, most of the queues", "kbit/s", 64, max(longest), 44, 76, POINT),
        Row(
            "SACK over NewReno, RED, 50 packets: fairness gained", "", None, gain(at_50, "SACK, RED", "NewReno, RED"), 0.01, 0.045,
            "words: marginally better; the least that the figure shows, and less than RED brings", known=ALIKE
        ),
        Row("RED over FIFO, SACK, 50 packets: fairness gained", "", None, gain(at_50, "SACK, RED", "SACK, FIFO"), 0.02, 0.19, FAIRER),
        Row(
            "RED over FIFO, NewReno, 50 packets: fairness gained", "", None, gain(at_50, "NewReno, RED", "NewReno, FIFO"), 0.02, 0.19,
            FAIRER
        ),
        Row(
            "SACK, RED, 50 packets: fairness (table 4.1)", "", 0.807, at_50["SACK, RED"].jain, 0.767, 0.847,
            "web loads other than ours move it by 0.04"
        ),
    ]
    return Reproduction(rows, draw_benchmark("jain", "Jain's index of fairness"), sensitivity=[left_open()])


def gain(outcomes, of: str, over: str) -> float:
    return outcomes[of].jain - outcomes[over].jain
