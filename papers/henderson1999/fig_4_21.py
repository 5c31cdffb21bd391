"""HT figure 4.21: duration of a reply of three segments with TCP, T/TCP, a larger initial window, and both.

Follows section 4.2.4: no losses, a round trip of 600 ms, arbitrarily fast transmitters, a delayed acknowledgment of 100 ms on average.
Differs: the simulated link has 10 Gbit/s and the delayed acknowledgment always waits 100 ms.
Leaves out the connection's end.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import run_text

from skyhop import theory

SOURCE = "Henderson 1999, figure 4.21 and section 4.2.4"
CLAIM = "Three segments take 3 RTT and 100 ms; T/TCP or an initial window of 4380 bytes makes it 2 RTT, both 1"

MSS = 1460
#: Three segments, with T/TCP too, whose options take 12 bytes of each.
REPLY_B = 4300
CASES = {
    "TCP": (False, MSS, 3 * 0.6 + 0.1),
    "T/TCP": (True, MSS, 2 * 0.6),
    "4KSS": (False, 4380, 2 * 0.6),
    "T/TCP and 4KSS": (True, 4380, 0.6),
}


def reproduce() -> Reproduction:
    rows, bars = [], {}
    for name, (at_once, window, published) in CASES.items():
        formula = theory.short_transfer(REPLY_B, rtt_s=0.6, mss=MSS, window=window // MSS, handshake=not at_once)
        bars[name] = formula
        rows.append(Row(f"{name}: closed form", "s", published, formula, published - 1e-9, published + 1e-9, "the same formula"))
        took = simulated(at_once, window)
        rows.append(
            Row(f"{name}: simulated", "s", published, took, published - 0.01, published + 0.01, "a tenth of the delayed acknowledgment")
        )
    return Reproduction(rows, draw(bars), ["`skyhop.theory.short_transfer` is the closed form."], [left_open()])


def left_open() -> str:
    said = ", ".join(f"{ms} ms {simulated(False, MSS, ms):.3f} s" for ms in (1, 100, 200))
    return (
        f"A delayed acknowledgment of 100 ms on average is one that always waits 100 ms. TCP with others: {said}; the other "
        "three do not wait for one."
    )


def simulated(at_once: bool, window: int, wait_ms: int = 100) -> float:
    opening = 'open = { kind = "t-tcp", known = true }' if at_once else ""
    run = run_text(f"""
        host = "1999"
        duration = "20 s"
        [links.satellite]
        rate = "10 Gbit/s"
        delay = "300 ms"
        queue.kind = "drop-tail"
        queue.limit = "100 packets"
        [[flows]]
        name = "web"
        path = ["client", "satellite", "server"]
        [flows.traffic]
        kind = "request-response"
        request.kind = "fixed"
        request.value = "100 B"
        reply.kind = "fixed"
        reply.value = "{REPLY_B} B"
        count = 1
        [flows.transport]
        kind = "tcp"
        mss = "{MSS} B"
        initial_window = "{window} B"
        rto_initial = "3 s"
        delayed_ack.kind = "one-shot"
        delayed_ack.timeout = "{wait_ms} ms"
        {opening}
        """)
    return run.summary["flows"]["web"]["completion_mean_s"]


def draw(bars: dict[str, float]):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
    ax.bar(list(bars), list(bars.values()), color="0.6")
    ax.plot(list(bars), [published for *_, published in CASES.values()], "D", color="#cf222e", markersize=5, label="published")
    ax.set(ylabel="time until the last segment (s)", title="three segments, RTT 600 ms")
    ax.legend(frameon=False)
    return figure
