"""Packet sequence diagrams of STP, drawn from a capture of a simulated link.

Follows HT figures 5.2 and 5.3: the sender's time on the left, the receiver's on the right, a line for each packet.
Differs from a sketch: every line is a captured packet; its kinds and numbers are read from its bytes (docs/stp.md 3).
Leaves out lists of gaps, except the first of a USTAT.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import NamedTuple

import skyhop

KINDS = {0x10: "BGN", 0x20: "BGNAK", 0x40: "END", 0x80: "ENDAK", 0x04: "STAT", 0x08: "USTAT", 0x01: "SD", 0x02: "POLL"}


class Packet(NamedTuple):
    """A packet when sent: time, direction, contents."""

    t_s: float
    forward: bool
    wire_b: int
    kinds: tuple[str, ...]
    #: N(S).
    number: int
    #: The receiver's next number and the first gap, from a STAT or USTAT in the plain format.
    next: int | None
    gap: tuple[int, int] | None

    @property
    def label(self) -> str:
        told = "+".join(self.kinds)
        if "SD" in self.kinds:
            return f"{told} {self.number}"
        if self.gap:
            return f"{told} {self.gap[0]} missing"
        return f"{told} {self.next}" if self.next is not None else told


def trace(text: str, seed: int = 1) -> tuple[list[Packet], dict]:
    """Runs a scenario that captures one link, and returns its STP packets in order of time and the summary."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        run = skyhop.run(text=text, seed=seed, out=out)
        return sorted(packets((out / "packets.pcapng").read_bytes())), run.summary


def packets(capture: bytes):
    """The packets of a capture in pcapng whose first interface is the way forward."""
    at = 0
    while at < len(capture):
        block, length = struct.unpack_from("<II", capture, at)
        if block == 6:
            interface, high, low, captured, original = struct.unpack_from("<IIIII", capture, at + 8)
            data = capture[at + 28 : at + 28 + captured]
            # Straight over IP, or over UDP.
            yield packet((high << 32 | low) / 1e9, interface == 0, original, data[20:] if data[9] == 253 else data[28:])
        at += length


def packet(t_s: float, forward: bool, wire_b: int, stp: bytes) -> Packet:
    kind, number = stp[4], int.from_bytes(stp[5:8], "big")
    told, next_number, gap = tuple(name for bit, name in KINDS.items() if kind & bit), None, None
    at = 12 + 16 * bool(kind & 0x10) + 16 * bool(kind & 0x20) + 4 * bool(kind & 0x40)
    if kind & 0x04:
        next_number = int.from_bytes(stp[at + 1 : at + 4], "big")
        # Bit 2: no gaps, and no list.
        if not stp[at] & 0x04 and int.from_bytes(stp[at + 21 : at + 24], "big"):
            gap = tuple(int.from_bytes(stp[at + i : at + i + 3], "big") for i in (25, 29))
    elif kind & 0x08:
        next_number = int.from_bytes(stp[at + 1 : at + 4], "big")
        gap = tuple(int.from_bytes(stp[at + i : at + i + 3], "big") for i in (9, 13))
    return Packet(t_s, forward, wire_b, told, number, next_number, gap)


def draw(shown: list[Packet], delay_s: float, rate_bps: float, lost: set[int], title: str, ends=("sender", "receiver")):
    """Draws the diagram; `lost` has the indices of packets that never arrived."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 8), layout="constrained")
    written = {True: -1.0, False: -1.0}
    for i, p in enumerate(shown):
        arrives = p.t_s + p.wire_b * 8 / rate_bps + delay_s
        x = (0, 1) if p.forward else (1, 0)
        end = (0.6, p.t_s + 0.6 * (arrives - p.t_s)) if i in lost else (x[1], arrives)
        ax.annotate(
            "", end, (x[0], p.t_s), arrowprops={"arrowstyle": "-|>", "color": "#cf222e" if i in lost else ("0.3" if p.forward else "0.6")}
        )
        # Labels of packets sent together stand side by side.
        beside = 0.17 if p.t_s - written[p.forward] < 0.03 else 0.02
        written[p.forward] = p.t_s
        ax.text(-beside if p.forward else 1 + beside, p.t_s, p.label, ha="right" if p.forward else "left", va="center", fontsize=7)
    for x in (0, 1):
        ax.axvline(x, color="0.1", linewidth=1)
    last = max((p.t_s for p in shown), default=0) + delay_s
    ax.set(xlim=(-0.5, 1.5), ylim=(1.02 * last, -0.02 * last), ylabel="time (s)", title=title)
    ax.set_xticks((0, 1), ends)
    return figure
