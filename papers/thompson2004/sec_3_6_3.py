"""TH section 3.6.3: compressed headers, and what twice and requests for whole headers make of losses.

Follows the text's numbers: 40 bytes become 5, or 3 in common cases; 10 to 15 % and more of throughput with twice and requests.
Differs: simulated over 64 kbit/s and 300 ms with bit errors; segments of 256 bytes, since of larger ones headers are less than that.
Leaves out the store of packets that could not be restored (docs/tcp.md).
"""

from __future__ import annotations

from functools import lru_cache

from rows import Reproduction, Row
from satellite import run_text

SOURCE = "Thompson 2004, section 3.6.3"
CLAIM = (
    "Header compression reduces 40 bytes to 3 to 5; with twice and requests it gains 10 to 15 % of throughput, and without them "
    "losses cost more"
)

SEEDS = (1, 2, 3, 4)
PAYLOAD_B = 256
REPAIR = {"twice": "header_twice = true", "both": "header_twice = true\nheader_requests = true"}


def reproduce() -> Reproduction:
    clean = run(True, "", 0, 1)["links"]["slow"]
    data, back = clean["forward"], clean["reverse"]
    whole, plain, twice = (goodput(*case, 1e-6) for case in ((False, ""), (True, ""), (True, REPAIR["twice"])))
    few, repaired = (goodput(*case, 1e-7) for case in ((False, ""), (True, REPAIR["both"])))
    rows = [
        Row(
            "header of a data packet", "B", 3, data["bytes"] / data["packets"] - PAYLOAD_B, 2.9, 3.3,
            "common cases; the SYN has no payload, the first goes whole"
        ),
        Row("header of an acknowledgment", "B", 5, back["bytes"] / back["packets"], 4.5, 6.2, "5, or 6 if it covers more than 255 bytes"),
        Row(
            "goodput with twice and requests at 1e-7, over whole headers", "times", 1.1, repaired / few, 1.1, 1.15,
            "the text's own interval, 10 to 15 %; 296 bytes for 259 are 14 %"
        ),
        Row(
            "goodput without them at 1e-6, over whole headers", "", None, plain / whole, 0.3, 0.97,
            "words: many packets may be lost, with very adverse effects"
        ),
        Row("goodput with twice alone at 1e-6, over without", "times", None, twice / plain, 1.03, 3, "words: repairs what a loss breaks"),
    ]
    said = [f"64 kbit/s, 1e-6, kbit/s: whole {whole:.1f}, compressed {plain:.1f}, with twice {twice:.1f}."]
    return Reproduction(rows, None, said)


def goodput(compressed: bool, repair: str, ber: float) -> float:
    """Mean of the seeds, kbit/s."""
    runs = [run(compressed, repair, ber, seed)["flows"]["transfer"]["goodput_bps"] for seed in SEEDS]
    return sum(runs) / len(runs) / 1e3


@lru_cache(maxsize=None)
def run(compressed: bool, repair: str, ber: float, seed: int) -> dict:
    return run_text(
        f"""host = "1999"
duration = "600 s"
record.sample_interval = "600 s"
[links.slow]
rate = "64 kbit/s"
delay = "300 ms"
queue = {{ kind = "drop-tail", limit = "100 packets" }}
loss = {{ kind = "bit-errors", bit_error_rate = {ber} }}
header_compression = {str(compressed).lower()}
{repair}
[[flows]]
name = "transfer"
path = ["server", "slow", "user"]
traffic = {{ kind = "bulk" }}
[flows.transport]
kind = "tcp"
variant = "newreno"
mss = "{PAYLOAD_B} B"
window = "12 kB"
""",
        seed,
    ).summary
