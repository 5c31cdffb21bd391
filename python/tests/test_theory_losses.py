"""Closed forms of losses compared with simulations, and pictures of two dimensions.

Follows `skyhop.theory` and `skyhop.plot`.
Differs from the papers' figures: a few points, for each of which the formula and the simulator must agree.
Leaves out queues and slow start, as the formulas do.
"""

import numpy as np
import pytest

import skyhop
from skyhop import plot, theory

LOSSY = """\
host = "1999"
duration = "2000 s"
[links.path]
rate = "100 Mbit/s"
delay = "50 ms"
queue = {{ kind = "drop-tail", limit = "10000 packets" }}
loss = {{ kind = "packets", probability = {loss} }}
reverse = {{ loss = {{ kind = "none" }} }}
[[flows]]
name = "bulk"
path = ["a", "path", "b"]
traffic = {{ kind = "bulk" }}
transport.kind = "tcp"
transport.variant = "{variant}"
transport.mss = "1000 B"
transport.window = "20 MB"
transport.delayed_ack = {{ kind = "none" }}
transport.limited_transmit = false
"""


@pytest.mark.parametrize("loss", [0.001, 0.003, 0.01, 0.03])
def test_reno_has_what_the_formulas_say(tmp_path, loss):
    goodput = {}
    for variant in ("reno", "sack"):
        file = tmp_path / f"{variant}.toml"
        file.write_text(LOSSY.format(loss=loss, variant=variant))
        goodput[variant] = skyhop.run(file).summary["flows"]["bulk"]["goodput_bps"]
    full = theory.reno_with_timeouts(loss, 0.1, mss=1000)
    root = theory.square_root(loss, 0.1, mss=1000)
    print(f"loss {loss}: reno {goodput['reno']:.0f}, sack {goodput['sack']:.0f}, Padhye {full:.0f}, square root {root:.0f}")
    assert full < root
    # Padhye counts the losses of a window as one, while here each reduces the window: Reno is slightly lower.
    assert 0.9 < goodput["reno"] / full < 1.06
    assert 0.8 < goodput["sack"] / root < 1.15 or loss > 0.02


def test_formulas_by_hand():
    # 1000 bytes, 100 ms, 1 %: 80 kbit/s * sqrt(150) = 979.8 kbit/s.
    assert theory.square_root(0.01, 0.1, mss=1000) == pytest.approx(979_796, rel=1e-4)
    # Padhye: 0.1 sqrt(0.02/3) + 1 * 3 sqrt(0.03/8) * 0.01 * 1.0032 = 0.0081650 + 0.0018430 s a packet, 1 % of them lost.
    assert theory.reno_with_timeouts(0.01, 0.1, mss=1000) == pytest.approx(8000 * 0.99 / 0.0100080, rel=1e-3)
    assert theory.reno_with_timeouts(1e-6, 0.1, mss=1000, window=10) == pytest.approx(800_000, rel=1e-3)
    with pytest.raises(ValueError, match="loss 0 is not"):
        theory.square_root(0, 0.1)
    with pytest.raises(ValueError, match="above 0"):
        theory.reno_with_timeouts(0.1, 0)


def test_surfaces_can_be_drawn():
    import matplotlib.pyplot as plt

    rate, rtt = (v.ravel() for v in np.meshgrid(np.geomspace(10, 9000, 12), np.linspace(20, 500, 9)))
    used = 1 / (1 + rate * rtt / 1e5)
    ax = plot.contours(rate, rtt, used, labels=("rate (kbit/s)", "RTT (ms)", "utilisation"))
    assert ax.get_xlabel() == "rate (kbit/s)" and len(ax.collections) >= 2
    other = plot.difference(rate, rtt, used, used**1.1)
    assert "largest difference 0.0" in other.get_title()
    below, = [c for c in other.collections if len(c.get_offsets()) > 0]
    assert len(below.get_offsets()) == len(rate), "the power makes all of them less"
    with pytest.raises(ValueError, match="do not make points"):
        plot.contours([1, 2], [1], [1, 2])
    plt.close("all")
