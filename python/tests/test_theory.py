"""Closed forms against numbers printed in the theses.

Follows HT 4.2.4, figure 4.21 and the minimum and median of table 4.2, and RFC 2414.
Differs: the table's median is set to 2112 bytes, the median of Mah's replies.
Leaves out its means, which `papers/henderson1999/table_4_2.py` has.
"""

import pytest

from skyhop import theory

# (mss, minimum, median) for TCP, T/TCP, "4KSS" and both, then the same at 80 ms.
PRINTED = [
    (1500, [(1.2, 1.9), (0.6, 1.2), (1.2, 1.2), (0.6, 0.6)], [(0.16, 0.34), (0.08, 0.16), (0.16, 0.16), (0.08, 0.08)]),
    (500, [(1.2, 2.5), (0.6, 1.8), (1.2, 1.8), (0.6, 1.2)], [(0.16, 0.42), (0.08, 0.24), (0.16, 0.24), (0.08, 0.16)]),
]


@pytest.mark.parametrize("mss, geo, leo", PRINTED)
def test_minimum_and_median_of_table_4_2(mss, geo, leo):
    for rtt_s, row in ((0.6, geo), (0.08, leo)):
        for n, printed in enumerate(row):
            window = 4 if n >= 2 else 1
            for size, expected in zip((400, 2112), printed):
                took = theory.short_transfer(size, rtt_s=rtt_s, mss=mss, window=window, handshake=n % 2 == 0)
                assert took == pytest.approx(expected, abs=0.0051), (mss, rtt_s, n, size)


def test_three_segments_of_figure_4_21():
    assert theory.short_transfer(3 * 1460, rtt_s=0.6) == pytest.approx(3 * 0.6 + 0.1)
    assert theory.short_transfer(3 * 1460, rtt_s=0.6, handshake=False) == pytest.approx(2 * 0.6)
    assert theory.short_transfer(3 * 1460, rtt_s=0.6, window=3) == pytest.approx(2 * 0.6)
    assert theory.short_transfer(3 * 1460, rtt_s=0.6, window=3, handshake=False) == pytest.approx(0.6)


@pytest.mark.parametrize("mss, bytes_", [(536, 2144), (1000, 4000), (1095, 4380), (1460, 4380), (2190, 4380), (4312, 8624)])
def test_initial_window_of_rfc_2414(mss, bytes_):
    assert theory.initial_window(mss) == bytes_


@pytest.mark.parametrize(
    "segments, window, expected", [(1, 1, 1), (2, 1, 2), (3, 1, 2), (4, 1, 3), (7, 1, 3), (8, 1, 4), (4, 4, 1), (5, 4, 2)]
)
def test_rounds_of_a_doubling_window(segments, window, expected):
    assert theory.rounds(segments, window) == expected
    sent = 0
    for _ in range(expected):
        assert sent < segments
        sent += window
        window *= 2
    assert sent >= segments


def test_doubling_fills_a_pipe():
    # 1.5 Mbit/s and 0.5 s are 62.5 packets: 2, 4, 8, 16, 32, 64.
    assert theory.time_to_fill(1.5e6, 0.5, ack_every=1) == pytest.approx(6 * 0.5)
    # With delayed ACKs, by a half: 2, 3, 4.5, 6.75, 10.1, 15.2, 22.8, 34.2, 51.3, 76.9.
    assert theory.time_to_fill(1.5e6, 0.5) == pytest.approx(10 * 0.5)


@pytest.mark.parametrize("wrong", [{"size": -1}, {"mss": 0}, {"rtt_s": -0.1}])
def test_nonsense_is_refused(wrong):
    arguments = {"size": 1000, "rtt_s": 0.6, "mss": 1460} | wrong
    with pytest.raises(ValueError, match="negative or no"):
        theory.short_transfer(arguments.pop("size"), **arguments)
