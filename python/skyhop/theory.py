"""Closed forms that simulations are held against: short transfers, initial windows, the time until a path is full.

Follows HT 4.2.4 (figure 4.21, table 4.2), RFC 2414 and TH 3.5.
Differs: delayed acknowledgments are worked out one by one, where the thesis's "simple analysis" is not printed.
Leaves out losses, queues, and the time that servers and transmitters take.

    >>> from skyhop import theory
    >>> theory.short_transfer(4500, rtt_s=0.6, mss=1500)
    1.9
"""

from __future__ import annotations

import heapq


def initial_window(mss: int) -> int:
    """The larger initial window of RFC 2414 ("4K slow start"), in bytes: min(4 MSS, max(2 MSS, 4380))."""
    return min(4 * mss, max(2 * mss, 4380))


def short_transfer(
    size: float,
    *,
    rtt_s: float,
    mss: int = 1460,
    initial_window: float | None = None,
    handshake: bool = True,
    delayed_ack_s: float = 0.1,
) -> float:
    """Seconds from a client's SYN until it has a reply of `size` bytes, on a path without losses and with transmitters of any rate.

    `initial_window` is in bytes, a segment if left out. `handshake=False` is T/TCP or Fast Open: the request goes with the SYN, and
    the reply's first segment is acknowledged at once, as it comes with one too. Every second segment is acknowledged, or a lone one
    after `delayed_ack_s`: half of BSD's 200 ms on average (HT 4.2.4). 0 acknowledges each.
    """
    if size < 0 or rtt_s < 0 or mss <= 0 or delayed_ack_s < 0:
        raise ValueError(f"negative or no size: size {size}, rtt_s {rtt_s}, mss {mss}, delayed_ack_s {delayed_ack_s}")
    segments = max(1, -int(-size // mss))
    # An initial window of 4380 bytes is two segments of 1500 and one of the rest.
    window = max(1, -int(-(initial_window or mss) // mss))
    took = (rtt_s if handshake else 0.0) + _reply(segments, window, rtt_s, delayed_ack_s, at_once=not handshake)
    return round(took, 12)


def _reply(segments: int, window: int, rtt_s: float, delayed_ack_s: float, at_once: bool) -> float:
    """From the request's leaving until the last segment's arrival; half a round trip each way."""
    segment, timer, ack = range(3)
    agenda: list[tuple[float, int, int]] = []
    sent = acked = 0

    def send(now: float) -> None:
        nonlocal sent
        while sent < segments and sent - acked < window:
            sent += 1
            heapq.heappush(agenda, (now + rtt_s / 2, segment, sent))

    send(rtt_s / 2)
    arrived = waiting = 0
    while agenda:
        now, what, number = heapq.heappop(agenda)
        if what == segment:
            arrived = number
            if number == segments:
                return now
            if waiting or delayed_ack_s == 0 or (at_once and number == 1):
                waiting = 0
                heapq.heappush(agenda, (now + rtt_s / 2, ack, arrived))
            else:
                waiting = number
                heapq.heappush(agenda, (now + delayed_ack_s, timer, number))
        elif what == timer and waiting == number:
            waiting = 0
            heapq.heappush(agenda, (now + rtt_s / 2, ack, arrived))
        elif what == ack and number > acked:
            acked = number
            # Slow start: a segment for each acknowledgment.
            window += 1
            send(now)
    raise AssertionError("a window of one segment or more always goes on")


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
