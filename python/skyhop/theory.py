"""Closed forms for comparison with simulations: windows and headers, short transfers, the time until a path is full, losses.

Follows HT 4.2.4 (figure 4.21, table 4.2), RFC 2414, TH 1.1 and 3.5; Mathis et al. 1997, Padhye et al. 1998 and Cardwell et al. 2000.
Differs: HT does not print its "simple analysis"; a window that doubles gives what its table prints.
Leaves out queues, servers' response times, and correlation of losses.

    >>> from skyhop import theory
    >>> theory.short_transfer(4500, rtt_s=0.6, mss=1500)
    1.9
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Framing:
    """Headers that a protocol adds to its payload, and the amount that may be in flight without an acknowledgment."""

    name: str
    #: Bytes around the payload of one packet, all layers that are counted.
    header: int
    #: Most payload of one packet, in bytes.
    payload: int
    #: Most payload under way, in bytes.
    window: int

    def share(self, payload: float | None = None) -> float:
        """Share of a channel that is left for payload, 0 to 1, in packets of `payload` bytes; the largest if left out."""
        payload = self.payload if payload is None else payload
        if not 0 < payload <= self.payload:
            raise ValueError(f"{self.name}: a payload of {payload} bytes is not above 0 and at most {self.payload}")
        return payload / (payload + self.header)

    def throughput(self, rtt_s: float, rate_bps: float = math.inf, payload: int | None = None) -> float:
        """Payload in bit/s that the window allows over a path without losses, over a channel of `rate_bps` if given.

        `rtt_s` is the time from a packet's end at its sender to the arrival of its acknowledgment. A window starts with a
        packet, so on a slow channel it also includes that packet's transmission time.
        """
        payload = self.payload if payload is None else payload
        share = self.share(payload)
        if rtt_s < 0 or rate_bps <= 0:
            raise ValueError(f"times are not negative and rates above 0: rtt_s {rtt_s}, rate_bps {rate_bps}")
        turn_s = rtt_s + (payload + self.header) * 8 / rate_bps
        packets = max(1, self.window // payload)
        windowed = packets * payload * 8 / turn_s if turn_s > 0 else math.inf
        return min(rate_bps * share, windowed)


#: AX.25 version 2.0 of packet radio: flags, two addresses, control, PID and check sequence; 7 frames of 256 bytes. Stuffed bits
#: come on top.
AX25 = Framing("AX.25", header=20, payload=256, window=7 * 256)
#: TCP over IPv4 without options: 64 kB less one under way, packets as large as IP allows.
TCP_IP = Framing("TCP/IP", header=40, payload=65_495, window=65_535)


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

    `window` is the server's initial window in segments of `mss` bytes. `handshake=False` is T/TCP or Fast Open: the request
    goes with the SYN. A single first segment is acknowledged after `delayed_ack_s`, on average half of BSD's 200 ms; not with
    T/TCP, where it is sent with a SYN.
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


def web_transfer(
    size: float,
    *,
    rtt_s: float,
    loss: float = 0.0,
    loss_back: float = 0.0,
    rate_bps: float = math.inf,
    mss: int = 1460,
    header: int = 40,
    initial_window: int = 1,
    window: int | None = None,
    ack_every: int = 2,
    rto_s: float | None = None,
    syn_timeout_s: float = 3.0,
    delayed_ack_s: float = 0.1,
    handshake: bool = True,
) -> float:
    """Mean seconds from a client's SYN until it has a reply of `size` bytes, under random losses (after Cardwell et al. 2000).

    The sum of a handshake, slow start until the first loss, the cost of that loss (a round trip, or a timeout if too few
    duplicates arrive), and the remainder at the rate of Padhye's full model of Reno. `loss` is the probability for a packet of
    the server, `loss_back` for one of the client. Windows in segments; `rto_s` is the timeout: if left out, that of RFC 6298
    after one sample for the first loss, and 1 s or the RTT for the remainder.
    Differs from Cardwell, who takes the logarithm of the mean: rounds are whole ones, summed over where the first loss may
    fall; the last three segments have too few behind them for duplicates. A transmitter of `rate_bps` counts as a window of
    rate times RTT.
    """
    if size <= 0 or mss <= 0 or rtt_s <= 0 or rate_bps <= 0 or initial_window < 1 or ack_every < 1:
        raise ValueError(f"sizes, times and rates must be above 0: size {size}, rtt_s {rtt_s}, mss {mss}, rate_bps {rate_bps}")
    for p in (loss, loss_back):
        if not 0 <= p < 0.5:
            raise ValueError(f"loss {p} is not from 0 to below 0.5")
    first_rto_s = max(1.0, 3 * rtt_s) if rto_s is None else rto_s
    segments = max(1, math.ceil(size / mss))
    packet_s = (mss + header) * 8 / rate_bps
    turn_s = rtt_s + packet_s
    most = math.inf if window is None else float(window)
    if math.isfinite(rate_bps):
        most = min(most, max(1.0, turn_s / packet_s))
    # A SYN and its answer are repeated until both have arrived; timeouts double.
    retries = sum((1 - p) / (1 - 2 * p) for p in (loss, loss_back)) - 2
    took = rtt_s + syn_timeout_s * retries if handshake else 0.0
    if initial_window == 1 and segments > 1 and ack_every > 1:
        took += delayed_ack_s
    # Time from a loss until its retransmission.
    timeout_s = first_rto_s * _backoff(loss) / (1 - loss)
    speed = _padhye(loss, turn_s, max(1.0, rtt_s) if rto_s is None else rto_s, ack_every, most) if loss else math.inf
    wave, sent, begun_s, reach = float(min(initial_window, most)), 0.0, 0.0, 1.0
    for k in range(1, segments + 1):
        if k > sent + wave:
            sent += wave
            begun_s += turn_s
            wave = min(wave + max(1.0, wave / ack_every), most)
        if loss == 0:
            continue
        # Probability that the k-th is the first to be lost; `reach` is the probability of no loss before it.
        lost = reach * loss
        by_timeout = 1.0 if segments - k < 3 else _by_timeout(loss, wave)
        cost_s = by_timeout * timeout_s + (1 - by_timeout) * turn_s
        took += lost * (begun_s + turn_s + cost_s + (segments - k) / speed)
        reach -= lost
    return took + reach * (begun_s + (k - sent - 1) * packet_s + turn_s)


def _backoff(p: float) -> float:
    """Doubling timeouts, up to 64 times the first (Padhye et al., equation 27)."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6


def _by_timeout(p: float, w: float) -> float:
    """Probability that a loss in a window of `w` segments is detected by a timeout (Padhye et al., equation 24)."""
    if w <= 3:
        return 1.0
    q = 1 - p
    return min(1.0, (1 + q**3 * (1 - q ** (w - 3))) * (1 - q**3) / (1 - q**w))


def _padhye(p: float, rtt_s: float, rto_s: float, b: int, most: float) -> float:
    """Segments per second that Reno sends in the long run (Padhye et al., equation 31)."""
    w = (2 + b) / (3 * b) + math.sqrt(8 * (1 - p) / (3 * b * p) + ((2 + b) / (3 * b)) ** 2)
    timeout_s = _backoff(p) * rto_s / (1 - p)
    if w < most:
        q = _by_timeout(p, w)
        return ((1 - p) / p + w / 2 + q) / (rtt_s * (b / 2 * w + 1) + q * timeout_s)
    q = _by_timeout(p, most)
    return ((1 - p) / p + most / 2 + q) / (rtt_s * (b / 8 * most + (1 - p) / (p * most) + 2) + q * timeout_s)


def square_root(loss: float, rtt_s: float, *, mss: int = 1460, ack_every: int = 1) -> float:
    """Goodput in bit/s of Reno's congestion avoidance under random losses (Mathis et al. 1997): mss sqrt(3 / (2 b p)) / RTT.

    `loss` is the probability that a packet is lost, b is `ack_every`. Valid while losses are so rare that timeouts do not
    matter.
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
