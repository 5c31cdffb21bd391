"""HT section 5.3: transfers and pages over a return channel of 1 kbit/s.

Follows its last claim: browsers over STP go on "with good performance" at 1 kbit/s back, where TCP is "unusable".
Differs: the thesis browsed by hand; here are transfers of three sizes, and twenty pages of Mah's by one connection.
"""

from __future__ import annotations

from functools import lru_cache

from rows import Reproduction, Row
from satellite import run_text, toml
from stp import BSD, SHORT, head

SOURCE = "Henderson 1999, section 5.3, 1 kbit/s back"
CLAIM = "With a return channel of 1 kbit/s STP still works, and takes half the time or less of TCP, which waits for its acknowledgments"

SIZES = ("10 kB", "100 kB", "1 MB")
BACK = ("1 kbit/s", "10 kbit/s", "100 kbit/s")
NARROW = ("0.25 kbit/s", "0.5 kbit/s", "1 kbit/s", "2 kbit/s", "4 kbit/s")
PAGES, SEEDS = 20, (1, 2, 3)


def reproduce() -> Reproduction:
    ours = {(kind, size, back): transfer(kind, size, back) for kind in ("TCP", "STP") for size in SIZES for back in BACK}
    over = {size: ours["STP", size, "1 kbit/s"] / ours["TCP", size, "1 kbit/s"] for size in SIZES}
    pages = {kind: browse(kind) for kind in ("TCP", "STP")}
    rows = [
        Row(
            "10 kB, STP over TCP, time", "", None, over["10 kB"], 0.5, 1.05,
            "words: STP is no worse; three round trips and the first answers' 44 to 60 bytes are most of both"
        ),
        Row("100 kB, STP over TCP, time", "", None, over["100 kB"], 0.3, 0.9, "words: good for STP; a third of TCP's packets at best"),
        Row("1 MB, STP over TCP, time", "", None, over["1 MB"], 0.1, 0.6, "words: TCP is unusable, read as twice STP's time at the least"),
        Row(
            "100 kB by STP, 1 kbit/s over 100 kbit/s, time", "", None,
            ours["STP", "100 kB", "1 kbit/s"] / ours["STP", "100 kB", "100 kbit/s"], 1, 2,
            "words: good performance, read as half of what a wide way back gives"
        ),
        Row("pages by one connection, STP over TCP, time", "", None, pages["STP"] / pages["TCP"], 0.3, 0.95, "words: browsers go on well"),
    ]
    wide = ours["STP", "100 kB", "100 kbit/s"]
    serves = [float(back.split()[0]) for back in NARROW if transfer("STP", "100 kB", back) <= 2 * wide]
    rows.append(
        Row(
            "narrowest way back that serves, of those tried", "kbit/s", 1, min(serves, default=0), 0.5, 1,
            "words: 1 kbit/s does, by two times the time of a wide way back; half of it is no worse"
        )
    )
    said = [f"{size}: TCP {ours['TCP', size, '1 kbit/s']:.1f} s, STP {ours['STP', size, '1 kbit/s']:.1f} s" for size in SIZES]
    pages_said = f"Pages: TCP {pages['TCP']:.1f} s, STP {pages['STP']:.1f} s."
    return Reproduction(rows, draw(ours), ["1 kbit/s back. " + ", ".join(said) + f". {pages_said}"])


def path(ends: tuple[str, str], rates: tuple[str, str]) -> str:
    queue = toml({"kind": "drop-tail", "limit": "50 packets"})
    return (
        f'[links.satellite]\nbetween = ["{ends[0]}", "{ends[1]}"]\nrate = "{rates[0]}"\ndelay = "299 ms"\nqueue = {queue}\n'
        f'reverse = {{ rate = "{rates[1]}", queue = {queue} }}\n'
    )


@lru_cache(maxsize=None)
def transfer(kind: str, size: str, back: str) -> float:
    """Time of a transfer, s."""
    flow = f'[[flows]]\nname = "transfer"\nfrom = "server"\nto = "client"\ntraffic = {{ kind = "bulk", size = "{size}" }}\n'
    transport = toml(BSD if kind == "TCP" else SHORT)
    text = head(1000, 1000) + path(("server", "client"), ("1.3 Mbit/s", back)) + flow + f"transport = {transport}\n"
    return run_text(text).summary["flows"]["transfer"]["completed_s"]


def browse(kind: str) -> float:
    """Mean time of a page, s."""
    traffic = {"kind": "web", "pages": PAGES, "connections": 1, "think": {"kind": "fixed", "value": "10 s"}}
    flow = f'[[flows]]\nname = "web"\nfrom = "client"\nto = "server"\ntraffic = {toml(traffic)}\n'
    text = head(36000, 1000) + path(("client", "server"), ("1 kbit/s", "1.3 Mbit/s")) + flow
    webs = [run_text(text + f"transport = {toml(BSD if kind == 'TCP' else SHORT)}\n", seed).summary["flows"]["web"] for seed in SEEDS]
    if any(web["completed"] != PAGES for web in webs):
        raise RuntimeError(f"{[web['completed'] for web in webs]} of {PAGES} pages completed")
    return sum(web["completion_mean_s"] for web in webs) / len(webs)


def draw(ours):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for kind, mark in (("TCP", "s"), ("STP", "o")):
        for size, dash in zip(SIZES, (":", "--", "-")):
            times = [ours[kind, size, back] for back in BACK]
            ax.plot(BACK, times, dash, marker=mark, color="0.1" if kind == "STP" else "0.6", label=f"{kind}, {size}")
    ax.set(xlabel="return channel", ylabel="time of a transfer (s)", yscale="log")
    ax.legend(frameon=False, fontsize=8)
    return figure
