"""Pictures printed in black and white, pixel by pixel.

Follows `skyhop.plot`: each picture is rendered, its colours become lightness, and different elements must remain
distinguishable.
Differs from test_plot.py, which checks labels and numbers.
Leaves out the look of pictures, which people judge.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.lines import Line2D

import skyhop
from skyhop import plot
from skyhop.equivalence import RATES_KBPS, RTTS_MS

GRID = """\
host = "1999"
duration = "30 s"
[links.satellite]
rate = "1 Mbit/s"
delay = "100 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
loss = { kind = "bit-errors", bit_error_rate = 1e-6 }
[[flows]]
name = "bulk"
path = ["a", "satellite", "b"]
traffic = { kind = "bulk" }
[sweep]
seeds = 5
[sweep.grid]
"links.satellite.rate" = ["250 kbit/s", "500 kbit/s", "1 Mbit/s", "2 Mbit/s"]
"flows.bulk.transport.variant" = ["tahoe", "reno", "newreno", "sack", "cubic", "hybla"]
"""


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("grey") / "grid.toml"
    file.write_text(GRID)
    return skyhop.sweep(file, out=file.parent / "sweep")


@pytest.fixture(scope="module")
def used():
    """Utilisations over rates and round trips that the metric fits except for a few points."""
    rate, rtt = (v.ravel() for v in np.meshgrid(RATES_KBPS[::2], RTTS_MS[::2]))
    return rate, rtt, np.minimum(1.0, 9e4 / (rate * rtt) ** 0.97) ** 0.8


def grey(figure):
    """Lightness of each pixel, 0 (black) to 1 (white), as in a black-and-white print (ITU-R BT.601)."""
    figure.canvas.draw()
    red, green, blue = (np.asarray(figure.canvas.buffer_rgba())[..., i] / 255 for i in range(3))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def strokes(pixels):
    """Lengths of ink and paper alternately along a row, complete ones only."""
    ink = pixels < 0.75
    edges = np.flatnonzero(np.diff(ink.astype(int))) + 1
    runs = np.split(ink, edges)[1:-1]
    return [(bool(run[0]), len(run)) for run in runs]


def test_pens_differ_in_dash_and_not_in_colour_alone():
    patterns = []
    for colour, dash, _ in plot.PENS:
        figure, ax = plt.subplots(figsize=(6, 1), dpi=200)
        ax.set_position([0, 0, 1, 1])
        ax.axis("off")
        ax.set_ylim(-1, 1)
        ax.plot([0, 1], [0, 0], color=colour, linestyle=dash, linewidth=1.4)
        lightness = grey(figure)
        row = lightness[np.argmin(lightness.mean(axis=1))]
        assert row.min() < 0.55, f"{colour} is too pale for a print"
        ink = [n for is_ink, n in strokes(row) if is_ink] or [len(row)]
        longest = max(ink)
        # A stroke is short if it is less than half the longest; a dash-dot line alternates short and long ones.
        short = sum(n < longest / 2 for n in ink)
        patterns.append((float((row < 0.75).mean()), longest, short / (len(ink) - short)))
        plt.close(figure)
    for a, b in itertools.combinations(patterns, 2):
        apart = (abs(a[0] - b[0]) >= 0.1, max(a[1], b[1]) >= 1.5 * min(a[1], b[1]), abs(a[2] - b[2]) >= 0.7)
        assert any(apart), (a, b)


def test_series_of_every_picture_differ_in_dash_or_marker(run, table):
    pictures = [
        plot.time_sequence(run, "download"),
        plot.cwnd(run, "download"),
        plot.intervals(table, "links.satellite.rate_bps", "bulk.goodput_bps", by="flows.bulk.transport.variant"),
    ]
    for ax, count in zip(pictures, (2, 2, 6)):
        styles = []
        for handle in ax.get_legend_handles_labels()[0]:
            line = handle if isinstance(handle, Line2D) else handle[0]
            styles.append((str(line._unscaled_dash_pattern), line.get_marker()))
        assert len(styles) == len(set(styles)) == count, styles
        # Each style drawn at the same place differs from every other in grey.
        seen = []
        lines = [line for line in ax.get_lines() if line.get_linestyle() != "None"]
        assert len(lines) == count
        for line in lines:
            figure, alone = plt.subplots(figsize=(4, 1), dpi=100)
            alone.axis("off")
            offset, dashes = line._unscaled_dash_pattern
            alone.plot([0, 1], [0.5, 0.5], color=line.get_color(), linestyle=(offset, dashes) if dashes else "-", linewidth=1.4)
            seen.append(grey(figure) < 0.75)
        for a, b in itertools.combinations(seen, 2):
            assert (a ^ b).sum() > 0.15 * min(a.sum(), b.sum())


def test_intervals_are_those_of_statistics(table):
    from skyhop.stats import mean_interval

    ax = plot.intervals(
        table, "links.satellite.rate_bps", "bulk.goodput_bps", by="flows.bulk.transport.variant", labels=("rate", "goodput", "five seeds")
    )
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("rate", "goodput", "five seeds")
    line, _, (bars,) = ax.containers[3].lines
    assert ax.containers[3].get_label() == "sack" and list(line.get_xdata()) == [250e3, 500e3, 1e6, 2e6]
    for i, segment in enumerate(bars.get_segments()):
        here = (table["links.satellite.rate_bps"] == line.get_xdata()[i]) & (table["flows.bulk.transport.variant"] == "sack")
        expected = mean_interval(table["bulk.goodput_bps"][here])
        assert expected.count == 5 and expected.high > expected.low
        assert segment[:, 1] == pytest.approx([expected.low, expected.high])
        assert line.get_ydata()[i] == pytest.approx(expected.value)
    # Without labels, column names and units become words and short numbers.
    own = plot.intervals(table, "links.satellite.rate_bps", "bulk.goodput_bps", by="flows.bulk.transport.variant")
    assert (own.get_xlabel(), own.get_ylabel()) == ("satellite rate (Mbit/s)", "bulk goodput (Mbit/s)")
    assert list(own.containers[3].lines[0].get_xdata()) == [0.25, 0.5, 1, 2]
    assert own.containers[3].lines[0].get_ydata() == pytest.approx(np.array(line.get_ydata()) / 1e6)
    # Texts do not overlap.
    other = plot.intervals(table, "flows.bulk.transport.variant", "bulk.goodput_bps", by="links.satellite.rate_bps")
    assert [label.get_text() for label in other.get_xticklabels()][:2] == ["tahoe", "reno"]
    assert other.get_xlabel() == "bulk transport variant"
    assert [c.get_label() for c in other.containers] == ["0.25 Mbit/s", "0.5 Mbit/s", "1 Mbit/s", "2 Mbit/s"]
    with pytest.raises(KeyError, match="no column 'bulk.godput_bps'; there are point"):
        plot.intervals(table, "links.satellite.rate_bps", "bulk.godput_bps")


def test_contours_are_steps_of_lightness(used):
    ax = plot.contours(*used, levels=(0.2, 0.4, 0.6, 0.8))
    lightness = grey(ax.figure)
    box = ax.get_window_extent()
    height = lightness.shape[0]
    inside = lightness[height - int(box.y1) : height - int(box.y0), int(box.x0) : int(box.x1)]
    shares, edges = np.histogram(inside, bins=50, range=(0, 1.0001))
    # Areas of one lightness are peaks; lines, letters and edges are not.
    steps = edges[:-1][shares > 0.015 * inside.size]
    assert 5 <= len(steps) <= 9 and steps[0] < 0.6 < 0.9 < steps[-1], steps


def test_the_metric_is_hatched_and_its_level_drawn(used):
    figure = plot.equivalence(*used, 0.8, title="a stack")
    upper, lower = figure.axes[:2], figure.axes[2:]
    assert [ax.name for ax in upper] == ["3d", "3d"] and len(lower) == 2
    assert "differ" in lower[1].get_title() and figure.get_suptitle() == "a stack"
    lightness = grey(figure)
    height = lightness.shape[0]
    for ax in lower:
        (x0, y0), (x1, y1) = ax.transAxes.transform([(0.8, 0.8), (0.98, 0.98)])
        hatched = lightness[height - int(y1) : height - int(y0), int(x0) : int(x1)]
        (x0, y0), (x1, y1) = ax.transAxes.transform([(0.05, 0.05), (0.12, 0.12)])
        white = lightness[height - int(y1) : height - int(y0), int(x0) : int(x1)]
        # Fast links with long delays fall short: grey with dark strokes. Slow ones with short delays do not: paper.
        assert hatched.min() < 0.4 and 0.5 < hatched.mean() < 0.9 and hatched.std() > 0.1
        assert white.min() > 0.95
    # The level's line, the only ink without grey, crosses both surfaces and both regions.
    red, green, blue = (np.asarray(figure.canvas.buffer_rgba())[..., i].astype(int) for i in range(3))
    ink = (blue - red > 80) & (blue - green > 30)
    for ax in figure.axes:
        box = ax.get_window_extent()
        columns = ink[height - int(box.y1) : height - int(box.y0), int(box.x0) : int(box.x1)].any(axis=0)
        assert columns.mean() > 0.25, ax.get_title()


def test_a_surface_of_scattered_points_and_of_a_grid(used):
    rate, rtt, u = used
    grid = plot.surface(rate, rtt, u, labels=("rate (kbit/s)", "RTT (ms)", "utilisation", ""), level=0.8)
    some = np.random.default_rng(1).permutation(len(rate))[:60]
    scattered = plot.surface(rate[some], rtt[some], u[some])
    assert grid.get_zlabel() == "utilisation" and len(scattered.collections) == 1 and len(grid.collections) == 2
    lightness = grey(grid.figure)
    assert (lightness < 0.5).mean() > 0.005 and np.ptp(lightness) > 0.8
    with pytest.raises(ValueError, match="projection"):
        plot.surface(rate, rtt, u, plt.subplots()[1])


def test_a_difference_shows_its_sign_without_colour(used):
    rate, rtt, u = used
    ax = plot.difference(rate, rtt, u, np.where(rate > 1000, u + 0.1, u - 0.1))
    above, below = (c for c in ax.collections if len(c.get_offsets()))
    filled, empty = (0.299 * r + 0.587 * g + 0.114 * b for r, g, b, _ in (above.get_facecolor()[0], below.get_facecolor()[0]))
    assert filled < 0.5 and empty == pytest.approx(1.0)
    assert ax.get_xticklabels()[0].get_text() is not None and ax.get_xscale() == "log"


def test_a_pdf_is_text_and_the_same_each_time(run, tmp_path):
    ax = plot.cwnd(run, "download")
    before = ax.figure.get_size_inches().copy()
    plot.save(ax, tmp_path / "one.pdf", width_cm=8.4)
    plot.save(ax.figure, tmp_path / "two.pdf", width_cm=8.4)
    data = (tmp_path / "one.pdf").read_bytes()
    assert data == (tmp_path / "two.pdf").read_bytes()
    assert data.startswith(b"%PDF") and b"/CIDFontType2" in data or b"/TrueType" in data
    assert b"/Type3" not in data and b"CreationDate" not in data
    box = data.split(b"/MediaBox [")[1].split(b"]")[0].split()
    assert float(box[2]) == pytest.approx(8.4 / 2.54 * 72, abs=0.5)
    assert (ax.figure.get_size_inches() == before).all()
    plot.save(ax, tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="-1 cm is not above 0"):
        plot.save(ax, tmp_path / "no.pdf", width_cm=-1)
    assert not (tmp_path / "no.pdf").exists()
