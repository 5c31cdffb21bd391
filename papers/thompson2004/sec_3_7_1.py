"""TH section 3.7.1: a file from several sources at once.

Follows the text: several connections, each to a source of its own, provide different parts of the data.
Differs: simulated, which the thesis did not; sources behind satellites of three heights, and pieces of 256 kB.
Leaves out sources that hold a part of the file, and data that are purged after a time.
"""

from __future__ import annotations

from functools import lru_cache

from rows import Reproduction, Row
from satellite import run_text

SOURCE = "Thompson 2004, section 3.7.1"
CLAIM = "A file arrives sooner from several sources at once than from the best of them, each at its own rate"

#: Rate in Mbit/s and delay in ms of the way from each source.
SOURCES = {"low": (2, 20), "lower": (1, 10), "high": (1, 260)}
SIZE_MB = 20


def reproduce() -> Reproduction:
    together, pieces = run(tuple(SOURCES))
    best, _ = run(("low",))
    share = pieces["low"] / sum(pieces.values())
    rows = [
        Row(
            "three sources over the best alone, time", "", None, together / best, 0.5, 0.75,
            "words: powerful; 2 of 4 Mbit/s are a half, and pieces of 2 s end apart"
        ),
        Row(
            "pieces of the source of 2 Mbit/s, of all", "", None, share, 0.45, 0.6,
            "words: different sources provide different parts; half, and round trips of 600 ms cost the third some"
        ),
        Row("pieces that arrived, of the file's", "", 1, sum(pieces.values()) * 256e3 / (79 * 256e3), 1, 1, "words: the whole file"),
    ]
    told = ", ".join(f"{name} {count:.0f}" for name, count in pieces.items())
    return Reproduction(rows, None, [f"{SIZE_MB} MB take {together:.0f} s from three, {best:.0f} s from one; pieces: {told}."])


@lru_cache(maxsize=None)
def run(names: tuple[str, ...]) -> tuple[float, dict[str, int]]:
    """Time until the last piece, s, and pieces of each source."""
    text = 'host = "1999"\nduration = "1000 s"\nrecord.sample_interval = "1000 s"\n'
    text += '[links.lan]\nbetween = ["hub", "client"]\nrate = "100 Mbit/s"\ndelay = "1 ms"\n'
    for name in names:
        rate, delay = SOURCES[name]
        text += f'[links.to-{name}]\nbetween = ["{name}", "hub"]\nrate = "{rate} Mbit/s"\ndelay = "{delay} ms"\n'
    for name in names:
        text += f"""[[flows]]
name = "{name}"
from = "client"
to = "{name}"
traffic = {{ kind = "fetch", file = "film", size = "{SIZE_MB} MB" }}
transport = {{ kind = "tcp", variant = "sack-newreno", window = "200 kB" }}
"""
    summary = run_text(text).summary
    return summary["simulated_s"], {name: summary["flows"][name]["completed"] for name in names}
