"""HT section 4.1.6: a receiver that divides its acknowledgments, so that a sender that counts them opens its window faster.

Follows the text's example, acknowledgments of 250 bytes for segments of 1000: four times the window's growth.
Differs: simulated, which the thesis did not; 600 ms, no losses, congestion avoidance from four segments on.
Leaves out what it does to other flows, which is figure 4.10's.
"""

from __future__ import annotations

from functools import lru_cache

from rows import Reproduction, Row
from satellite import run_text

SOURCE = "Henderson 1999, section 4.1.6"
CLAIM = "Four acknowledgments for each segment make the window grow four times as fast, and are of little use with a narrow return channel"

DURATION_S = 60


def reproduce() -> Reproduction:
    whole, four = (run("1.5 Mbit/s", division) for division in (1, 4))
    thin = [run("10 kbit/s", division) for division in (1, 4)]
    counting = run("1.5 Mbit/s", 4, "byte_counting = 1")
    gains = [goodput(pair[1]) / goodput(pair[0]) for pair in ((whole, four), thin)]
    rows = [
        Row(
            "growth of the window with four parts, over whole", "times", 4, growth(four) / growth(whole), 3.6, 4.4,
            "a tenth: segments whose acknowledgments are under way at both ends of the minute"
        ),
        Row(
            "the same for a sender that counts bytes (RFC 3465)", "", 1, growth(counting) / growth(whole), 0.95, 1.05,
            "words: the acknowledgments' number no longer counts", of="design"
        ),
        Row(
            "goodput of a minute with four parts, over whole", "times", None, gains[0], 1.5, 4,
            "words: speeds up; growth's four is the ceiling"
        ),
        Row(
            "the same with 10 kbit/s back", "", None, gains[1], 0.3, 1.3,
            "words: of limited utility where the way back is constrained, read as no more than a third of a gain"
        ),
    ]
    return Reproduction(rows, draw({"whole": whole, "four parts": four}))


def goodput(result) -> float:
    return result.summary["flows"]["transfer"]["goodput_bps"]


def growth(result) -> float:
    """Bytes by which the window grows."""
    _, window = result.sample("flow/transfer", "cwnd_bytes")
    return float(window[-1] - window[0])


@lru_cache(maxsize=None)
def run(back: str, division: int, more: str = ""):
    return run_text(f"""host = "1999"
duration = "{DURATION_S} s"
record.sample_interval = "1 s"
[links.satellite]
rate = "10 Mbit/s"
delay = "300 ms"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
reverse = {{ rate = "{back}", queue = {{ kind = "drop-tail", limit = "100 packets" }} }}
[[flows]]
name = "transfer"
path = ["server", "satellite", "user"]
traffic = {{ kind = "bulk" }}
[flows.transport]
kind = "tcp"
variant = "newreno"
mss = "1000 B"
window = "2 MB"
initial_window = "2 segments"
initial_ssthresh = "4 segments"
delayed_ack = {{ kind = "none" }}
ack_division = {division}
{more}
""")


def draw(runs):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for (name, result), dash in zip(runs.items(), ("-", "--")):
        t, window = result.sample("flow/transfer", "cwnd_bytes")
        ax.plot(t, window / 1e3, dash, color="0.1", label=name)
    ax.set(xlabel="time (s)", ylabel="congestion window (kB)")
    ax.legend(frameon=False)
    return figure
