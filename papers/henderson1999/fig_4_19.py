"""HT figure 4.19: agreement of two implementations of SACK and NewReno, over round trips of 20 to 600 ms.

Follows section 4.2.3, where a simulation is compared with an experiment.
Differs: ours is compared with ns-2.35, since the experiment's numbers are not printed; 1.5 Mbit/s, packets of 1000 bytes, 10 MB.
Leaves out the experiment.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import run_text

SOURCE = "Henderson 1999, figure 4.19 and section 4.2.3"
CLAIM = "A simulator's SACK and NewReno agree with another implementation's"

#: Goodput in kbit/s of ns-2.35's Sack1 and of Newreno, slow but steady, by RTT in ms.
NS2 = {
    "SACK": ("sack1", {20: 1439.9, 40: 1436.8, 80: 1423.9, 150: 1410.8, 300: 1361.8, 600: 1282.9}),
    "NewReno": ("newreno-slow-but-steady", {20: 1432.0, 40: 1424.9, 80: 1383.6, 150: 1306.6, 300: 1017.8, 600: 521.5}),
}


def reproduce() -> Reproduction:
    ours = {name: {rtt: goodput(variant, rtt) for rtt in row} for name, (variant, row) in NS2.items()}
    rows = [
        Row(
            f"{name}, RTT {rtt} ms", "kbit/s", published, ours[name][rtt], 0.98 * published, 1.02 * published,
            "as far as two implementations of the figure are apart", of="ns-2.35"
        )
        for name, (_, row) in NS2.items()
        for rtt, published in row.items()
    ]
    return Reproduction(
        rows, draw(ours), ["What stands under published is ns-2.35's; `crates/sim/tests/geo_bulk.rs` has more of it."], [left_open()]
    )


def left_open() -> str:
    said = ", ".join(
        f"{queue} packets {goodput('sack1', 600, queue):.0f} and {goodput('newreno-slow-but-steady', 600, queue):.0f}"
        for queue in (20, 50, 100)
    )
    return f"The queue: 50 packets. SACK and NewReno over 600 ms, kbit/s: {said}."


def goodput(variant: str, rtt_ms: int, queue: int = 50) -> float:
    burst = "burst_after_recovery = true\nrecovery_burst = 2" if variant.startswith("newreno") else ""
    run = run_text(f"""
        host = "1999"
        duration = "1000 s"
        [links.access]
        rate = "10 Mbit/s"
        delay = "1 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [links.satellite]
        rate = "1.5 Mbit/s"
        delay = "{rtt_ms / 2 - 2:g} ms"
        queue.kind = "drop-tail"
        queue.limit = "{queue} packets"
        [links.lan]
        rate = "10 Mbit/s"
        delay = "1 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [[flows]]
        name = "download"
        path = ["server", "access", "satellite", "lan", "user"]
        traffic.kind = "bulk"
        traffic.size = "10 MB"
        [flows.transport]
        kind = "tcp"
        variant = "{variant}"
        mss = "1000 B"
        window = "240 kB"
        initial_ssthresh = "240 segments"
        rto_initial = "3 s"
        {burst}
        """)
    return run.summary["flows"]["download"]["goodput_bps"] / 1e3


def draw(ours):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, (_, row)), dash in zip(NS2.items(), ("-", "--")):
        ax.plot(list(ours[name]), list(ours[name].values()), dash, color="0.1", label=name)
        ax.plot(list(row), list(row.values()), "o", color="0.5", markersize=5, fillstyle="none", label=f"{name}, ns-2.35")
    ax.set(xlabel="RTT (ms)", ylabel="goodput (kbit/s)", ylim=(0, 1500))
    ax.legend(frameon=False)
    return figure
