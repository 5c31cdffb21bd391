"""The pictures that people ask for first: windows, sequences, delays, maps. Needs `pip install skyhop[plot]`.

Follows tcptrace's time-sequence graph and the thesis figures: time to the right, units in the labels.
Differs from xplot: samples, not segments; for each segment open the capture in Wireshark.
Leaves out style sheets; lines differ in dash and lightness, so a grey print keeps them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._run import Run
    from ._space import Snapshot

#: (colour, dash) of successive lines; the colours differ in lightness too.
PENS = [("#0b5fa5", "-"), ("#d95f02", "--"), ("#1b7f5c", ":"), ("#9a3d8f", "-."), ("#3a3a3a", (0, (4, 2)))]


def time_sequence(run: Run, flow: str, ax: Axes | None = None) -> Axes:
    """Bytes acknowledged, and sent up to now, over time."""
    t, acked = run.sample(f"flow/{flow}", "acked_bytes")
    t_sent, in_flight = run.sample(f"flow/{flow}", "in_flight_bytes")
    ax = _axes(ax, f"{flow}: time and sequence", "time (s)", "sequence (MB)")
    if len(t) == len(t_sent):
        _line(ax, 0, t, (acked + in_flight) / 1e6, "sent")
    _line(ax, 1, t, acked / 1e6, "acknowledged")
    ax.legend(frameon=False)
    return ax


def cwnd(run: Run, flow: str, ax: Axes | None = None) -> Axes:
    """Congestion window and slow-start threshold over time."""
    ax = _axes(ax, f"{flow}: congestion window", "time (s)", "window (kB)")
    t, window = run.sample(f"flow/{flow}", "cwnd_bytes")
    _line(ax, 0, t, window / 1e3, "cwnd", drawstyle="steps-post")
    top = ax.get_ylim()[1]
    try:
        t, threshold = run.sample(f"flow/{flow}", "ssthresh_bytes")
    except KeyError:
        return ax
    # Before the first loss the threshold is as good as infinite, which no axis shows.
    threshold = np.where(threshold / 1e3 > 4 * top, np.nan, threshold)
    if np.isfinite(threshold).any():
        _line(ax, 1, t, threshold / 1e3, "ssthresh", drawstyle="steps-post")
        ax.legend(frameon=False)
    return ax


def delay(run: Run, flow: str, ax: Axes | None = None) -> Axes:
    """One-way delay over time: a point per ping, or the path's propagation delay where that is sampled."""
    for metric, label in [("delay_s", "one-way delay (ms)"), ("path_delay_s", "one-way propagation delay (ms)")]:
        try:
            t, seconds = run.sample(f"flow/{flow}", metric)
            break
        except KeyError:
            continue
    else:
        raise KeyError(f"flow {flow!r} has no samples of a delay; pings and flows over satellites have")
    hours = len(t) > 0 and t[-1] >= 3 * 3600
    ax = _axes(ax, f"{flow}: delay", "time (h)" if hours else "time (s)", label)
    ax.plot(t / 3600 if hours else t, seconds * 1e3, ".", color=PENS[0][0], markersize=3)
    ax.set_ylim(bottom=0)
    return ax


def map(snapshot: Snapshot, path: list[str] | None = None, ax: Axes | None = None, legend: bool = True) -> Axes:
    """Satellites, links that are up and terminals on a map of the world; `path` is a list of nodes to highlight."""
    from ._map import draw

    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(9, 5.2), layout="constrained")
    return draw(snapshot, ax, path, legend)


def contours(
    x: Any, y: Any, z: Any, levels: Any = (0.5, 0.6, 0.7, 0.8, 0.9), ax: Axes | None = None, *, labels: tuple[str, str, str] = ("", "", "")
) -> Axes:
    """Lines of equal `z` over scattered points (`x`, `y`), both on logarithmic axes: utilisation over rates and delays (TH chapter 4).

    `labels` are for x, y and the title.
    """
    x, y, z = (np.asarray(v, dtype=float).ravel() for v in (x, y, z))
    if not len(x) == len(y) == len(z):
        raise ValueError(f"{len(x)}, {len(y)} and {len(z)} values do not make points")
    ax = _axes(ax, labels[2], labels[0], labels[1])
    # Triangles in the logarithms, so that the grid's decades are alike.
    filled = ax.tricontourf(np.log10(x), np.log10(y), z, levels=[min(z.min(), levels[0]) - 1e-9, *levels, max(z.max(), levels[-1]) + 1e-9], cmap="Greys_r", alpha=0.75)
    lines = ax.tricontour(np.log10(x), np.log10(y), z, levels=list(levels), colors="#0b5fa5", linewidths=1.0)
    ax.clabel(lines, fontsize=8, fmt="%g")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda v, _: f"{10**v:.3g}")
    ax.figure.colorbar(filled, ax=ax)
    return ax


def difference(x: Any, y: Any, a: Any, b: Any, ax: Axes | None = None, *, labels: tuple[str, str, str] = ("", "", "")) -> Axes:
    """Where `b` is above `a` and where below, over scattered points: two variants over rates and delays (TH figures 4.2 and 4.3).

    Filled circles are above, open ones below; their area is the difference, the largest is in the title.
    """
    x, y, a, b = (np.asarray(v, dtype=float).ravel() for v in (x, y, a, b))
    if not len(x) == len(y) == len(a) == len(b):
        raise ValueError(f"{len(x)}, {len(y)}, {len(a)} and {len(b)} values do not make points")
    gap = b - a
    most = float(abs(gap).max()) if len(gap) else 0.0
    ax = _axes(ax, f"{labels[2]} (largest difference {most:.3g})".strip(), labels[0], labels[1])
    size = 90 * abs(gap) / (most or 1.0)
    for above, style in ((gap > 0, {"facecolors": "#0b5fa5"}), (gap < 0, {"facecolors": "none"})):
        ax.scatter(x[above], y[above], s=size[above], edgecolors="#0b5fa5", linewidths=0.8, **style)
    ax.set(xscale="log", yscale="log")
    return ax


def _axes(ax: Axes | None, title: str, x: str, y: str) -> Axes:
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as e:
            raise ImportError("matplotlib is not installed; pip install skyhop[plot]") from e
        _, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    ax.set(title=title, xlabel=x, ylabel=y)
    ax.grid(color="#e1e4e8", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _line(ax: Axes, pen: int, x: np.ndarray, y: np.ndarray, label: str, **style: Any) -> None:
    colour, dash = PENS[pen]
    ax.plot(x, y, color=colour, linestyle=dash, linewidth=1.4, label=label, **style)
