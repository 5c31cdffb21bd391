"""Closed forms that simulations are held against: short transfers, initial windows, the time until a path is full.

Follows HT 4.2.4 (figure 4.21, table 4.2), RFC 2414 and TH 3.5.
Differs: HT does not print its "simple analysis"; a window that doubles gives what its table prints.
Leaves out losses, queues, and the time that servers and transmitters take.

    >>> from skyhop import theory
    >>> theory.short_transfer(4500, rtt_s=0.6, mss=1500)
    1.9
"""

from __future__ import annotations


def initial_window(mss: int) -> int:
    """The larger initial window of RFC 2414 ("4K slow start"), in bytes: min(4 MSS, max(2 MSS, 4380))."""
    return min(4 * mss, max(2 * mss, 4380))


def rounds(segments: int, window: int = 1) -> int:
    """Round trips of slow start that `segments` take, if the window is `window` segments and doubles: ceil(log2(segments / window + 1))."""
    if segments < 1 or window < 1:
        raise ValueError(f"negative or no segments: segments {segments}, window {window}")
    return (-(-segments // window)).bit_length()


def short_transfer(
    size: float,
    *,
    rtt_s: float,
    mss: int = 1460,
    window: int = 1,
    handshake: bool = True,
    delayed_ack_s: float = 0.1,
) -> float:
    """Seconds from a client's SYN until it has a reply of `size` bytes, on a path without losses and with transmitters of any rate.

    `window` is the server's initial window in segments of `mss` bytes. `handshake=False` is T/TCP or Fast Open: the request goes with
    the SYN. A lone first segment is acknowledged after `delayed_ack_s`, half of BSD's 200 ms on average; not with T/TCP, where it
    comes with a SYN.
    """
    if size < 0 or rtt_s < 0 or mss <= 0 or delayed_ack_s < 0:
        raise ValueError(f"negative or no size: size {size}, rtt_s {rtt_s}, mss {mss}, delayed_ack_s {delayed_ack_s}")
    segments = max(1, -int(-size // mss))
    waits = handshake and window == 1 and segments > 1
    return (handshake + rounds(segments, window)) * rtt_s + waits * delayed_ack_s


def time_to_fill(rate_bps: float, rtt_s: float, *, packet: int = 1500, initial_window: int = 1, ack_every: int = 2) -> float:
    """Seconds of slow start until the window is rate times RTT.

    A window grows by a segment for each acknowledgment: by 1 + 1 / `ack_every` in a round trip. `initial_window` is in packets of
    `packet` bytes on the wire.
    """
    if min(rate_bps, rtt_s, packet, initial_window, ack_every) <= 0:
        raise ValueError("rates, times and sizes must be above 0")
    window, took = float(initial_window), 0.0
    while window * packet * 8 < rate_bps * rtt_s:
        window += max(1.0, window / ack_every)
        took += rtt_s
    return took
