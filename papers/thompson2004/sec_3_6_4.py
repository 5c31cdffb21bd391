"""TH section 3.6.4 and HT section 2.1.2: a filter of acknowledgments before a thin way back, and their reconstruction behind it.

Follows the text: a filter leaves out what later acknowledgments say too, and wants senders that are adapted, or reconstruction.
Differs: simulated, which neither thesis did; 10 Mbit/s and 500 ms, 10 kbit/s back, acknowledgments for every second segment.
Leaves out adapted senders, which are `byte_counting` and `pacing` (docs/links.md).
"""

from __future__ import annotations

from functools import lru_cache

from rows import Reproduction, Row
from satellite import run_text

SOURCE = "Thompson 2004, section 3.6.4, and Henderson 1999, section 2.1.2"
CLAIM = "A filter keeps acknowledgments from queueing on a narrow return channel; reconstruction restores the sender's acknowledgment clock"


def reproduce() -> Reproduction:
    queued, filtered, rebuilt = run(False, ""), run(True, ""), run(True, 'ack_reconstruction = "2000 B"')
    of = [result["flows"]["transfer"] for result in (queued, filtered, rebuilt)]
    rows = [
        Row(
            "filter over a queue of 100 acknowledgments, mean RTT", "", None, of[1]["rtt_mean_s"] / of[0]["rtt_mean_s"], 0.15, 0.9,
            "words: redundant acknowledgments are removed; a hundred of 40 bytes are 3.2 s"
        ),
        Row(
            "reconstruction and filter, over filter alone, time of 2 MB", "", None, of[2]["completed_s"] / of[1]["completed_s"], 0.3, 0.9,
            "words: a filter alone requires adaptation of the sender, whose window opens by acknowledgments"
        ),
        Row(
            "segments sent twice with reconstruction", "", 0, float(of[2]["segments_retransmitted"]), 0, 0,
            "words: nothing is lost; acknowledgments that are made are none of three duplicates"
        ),
    ]
    said = ", ".join(f"{name} {flow['completed_s']:.1f} s" for name, flow in zip(("queue", "filter", "reconstruction"), of))
    return Reproduction(rows, None, [f"2 MB take: {said}."])


@lru_cache(maxsize=None)
def run(filters: bool, reconstruction: str) -> dict:
    queue = f'{{ kind = "drop-tail", limit = "100 packets", ack_filter = {str(filters).lower()} }}'
    return run_text(f"""host = "1999"
duration = "600 s"
record.sample_interval = "600 s"
[links.lan]
rate = "100 Mbit/s"
delay = "1 ms"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
[links.satellite]
rate = "10 Mbit/s"
delay = "250 ms"
queue = {{ kind = "drop-tail", limit = "1000 packets" }}
reverse = {{ rate = "10 kbit/s", queue = {queue} }}
{reconstruction}
[[flows]]
name = "transfer"
path = ["server", "lan", "satellite", "user"]
traffic = {{ kind = "bulk", size = "2 MB" }}
[flows.transport]
kind = "tcp"
variant = "newreno"
mss = "1000 B"
window = "500 kB"
initial_window = "2 segments"
delayed_ack = {{ kind = "one-shot", timeout = "200 ms" }}
""").summary
