"""HT section 4.2.2: the emulated satellite path of figures 4.11 and 4.12, for figures 4.13 to 4.24.

Follows its text: 1.3 Mbit/s of TCP/IP, 600 ms, Ethernets, BSD hosts with 240 kB of window, in `henderson1999/fig_4_13.toml`.
Differs: the queue before the satellite link, which is not stated, is 50 packets; `fig_4_14.py` has the effect of others.
Leaves out the light background traffic.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import skyhop

SCENARIO = Path(__file__).parent / "henderson1999" / "fig_4_13.toml"
#: Rate times RTT of the geostationary path.
PIPE_B = 1.3e6 * 0.6 / 8


@dataclass
class Trace:
    """A transfer over 600 ms, sampled 20 times a second."""

    t: np.ndarray
    acked: np.ndarray
    sent: np.ndarray
    #: Slow-start threshold; NaN before the first loss.
    threshold: np.ndarray
    flow: dict[str, Any]

    @property
    def loss(self) -> int:
        """Index of the first sample with a reduced window."""
        return int(np.argmax(np.isfinite(self.threshold)))

    @property
    def recovery_s(self) -> float:
        """Time from the first reduction until all data sent before it are acknowledged."""
        behind = self.acked < self.sent[: self.loss + 1].max()
        return float(self.t[np.argmin(behind)] - self.t[self.loss])

    @property
    def reductions(self) -> int:
        """Number of reductions of the threshold."""
        known = self.threshold[np.isfinite(self.threshold)]
        return int(len(known) > 0) + int(np.sum(np.diff(known) < 0))


def trace(variant: str, **options: Any) -> Trace:
    """The first 60 s of an endless transfer; `options` are those of its transport."""
    changes = {f"flows.transfer.transport.{key}": value for key, value in options.items() if key != "queue"}
    if "queue" in options:
        changes["links.satellite.queue.limit"] = options["queue"]
    run = skyhop.run(
        SCENARIO,
        set={
            "duration": "60 s",
            "record.sample_interval": "50 ms",
            "flows.transfer.traffic": '{ kind = "bulk" }',
            "flows.transfer.transport.variant": variant,
            **changes,
        },
    )
    t, acked = run.sample("flow/transfer", "bytes_acked")
    sent = acked + run.sample("flow/transfer", "in_flight_bytes")[1]
    threshold = np.full(len(t), np.nan)
    # There are no samples of a threshold before a loss.
    if "ssthresh_bytes" in set(run.series["metric"]):
        at, values = run.sample("flow/transfer", "ssthresh_bytes")
        threshold[np.searchsorted(t, at)] = values
    return Trace(t, acked, sent, threshold, run.summary["flows"]["transfer"])


def draw(trace: Trace, title: str, between: tuple[float, float] = (0, 60)):
    """Data sent and acknowledged, over time."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    shown = (trace.t >= between[0]) & (trace.t <= between[1])
    ax.plot(trace.t[shown], trace.sent[shown] / 1e6, ".", color="0.1", markersize=2, label="sent")
    ax.plot(trace.t[shown], trace.acked[shown] / 1e6, "-", color="0.55", linewidth=1, label="acknowledged")
    ax.set(xlabel="time (s)", ylabel="payload (MB)", title=title, xlim=between)
    ax.grid(color="#e1e4e8", linewidth=0.8)
    ax.legend(frameon=False)
    return figure


def toml(value) -> str:
    """A value as an inline table of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(v)}" for key, v in value.items()) + " }"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def run_text(text: str, seed: int = 1):
    """Runs a scenario given as text."""
    return skyhop.run(text=text, seed=seed)
