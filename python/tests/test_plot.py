"""Plots: axes with units, and lines that a grey printer keeps apart.

Follows `skyhop.plot`; the look of pictures is judged by people.
Differs from image comparison: labels and styles are checked, pixels are not.
Leaves out saving, which is matplotlib's.
"""

import matplotlib.pyplot as plt
import pytest

import skyhop
from skyhop import plot


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_time_and_sequence(run):
    ax = plot.time_sequence(run, "download")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "sequence (MB)")
    sent, acked = ax.get_lines()
    assert sent.get_linestyle() != acked.get_linestyle()
    assert (sent.get_ydata() >= acked.get_ydata()).all() and acked.get_ydata()[-1] <= 2.0


def test_window_and_threshold(run):
    _, mine = plt.subplots()
    ax = plot.cwnd(run, "download", ax=mine)
    assert ax is mine and ax.get_ylabel() == "window (kB)"
    assert len(ax.get_lines()) == 2


def test_delay_of_a_ping_over_satellites(tmp_path):
    path = tmp_path / "iridium.toml"
    path.write_text(
        'duration = "10 min"\n[constellation]\npreset = "iridium"\n[terminals]\n'
        'a = { lat = "40.71 deg", lon = "-74.01 deg" }\nb = { lat = "37.77 deg", lon = "-122.42 deg" }\n'
        '[[flows]]\nname = "ping"\nfrom = "a"\nto = "b"\ntraffic = { kind = "ping", interval = "10 s" }\n'
    )
    ax = plot.delay(skyhop.run(path), "ping")
    assert ax.get_xlabel() == "time (s)" and "(ms)" in ax.get_ylabel()
    delays = ax.get_lines()[0].get_ydata()
    assert 15 < delays.min() <= delays.max() < 200


def test_a_flow_that_is_not_there_is_told(run):
    for draw in (plot.time_sequence, plot.cwnd, plot.delay):
        with pytest.raises(KeyError, match="nobody"):
            draw(run, "nobody")
