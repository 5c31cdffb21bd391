"""Closed forms that simulations are held against: short transfers, initial windows, the time until a path is full, losses.

Follows HT 4.2.4 (figure 4.21, table 4.2), RFC 2414, TH 3.5; Mathis et al. 1997 and Padhye et al. 1998 for losses.
Differs: HT does not print its "simple analysis"; a window that doubles gives what its table prints.
Leaves out queues, and the time that servers and transmitters take.

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


def square_root(loss: float, rtt_s: float, *, mss: int = 1460, ack_every: int = 1) -> float:
    """Goodput in bit/s of Reno's congestion avoidance under random losses (Mathis et al. 1997): mss sqrt(3 / (2 b p)) / RTT.

    `loss` is the probability that a packet is lost, b is `ack_every`. Holds while losses are so rare that timeouts do not matter.
    """
    _check_losses(loss, rtt_s, mss, ack_every)
    return mss * 8 / rtt_s * (1.5 / (ack_every * loss)) ** 0.5


def reno_with_timeouts(
    loss: float, rtt_s: float, *, rto_s: float | None = None, mss: int = 1460, ack_every: int = 1, window: int | None = None
) -> float:
    """Goodput in bit/s of Reno under random losses, timeouts and the receiver's window included (Padhye et al. 1998, equation 32).

    `rto_s` is the first timeout, 1 s or the RTT, whichever is more, if left out; `window` in segments is without limit if left out.
    """
    _check_losses(loss, rtt_s, mss, ack_every)
    rto_s = max(1.0, rtt_s) if rto_s is None else rto_s
    b, p = ack_every, loss
    growth = rtt_s * (2 * b * p / 3) ** 0.5
    timeouts = rto_s * min(1.0, 3 * (3 * b * p / 8) ** 0.5) * p * (1 + 32 * p * p)
    packets = 1 / (growth + timeouts)
    if window is not None:
        packets = min(packets, window / rtt_s)
    # Lost packets are sent but do not arrive.
    return packets * mss * 8 * (1 - p)


def _check_losses(loss: float, rtt_s: float, mss: int, ack_every: int) -> None:
    if not 0 < loss < 1:
        raise ValueError(f"loss {loss} is not between 0 and 1")
    if min(rtt_s, mss, ack_every) <= 0:
        raise ValueError(f"times and sizes must be above 0: rtt_s {rtt_s}, mss {mss}, ack_every {ack_every}")
