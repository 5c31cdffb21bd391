"""The most common pictures, a call each. Needs `pip install skyhop[plot]`.

Follows tcptrace's time-sequence graph and the thesis figures: time to the right, units in the labels.
Differs from xplot: samples, not segments; for each segment open the capture in Wireshark.
Leaves out style sheets; lines differ in dash, areas in lightness or hatching, so a grey print keeps them apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _labels
from ._pens import PENS, axes, line, pen, pyplot
from ._surfaces import contours, difference, equivalence, surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._run import Run
    from ._space import Snapshot
    from ._table import Table
    from .analysis import Factorial

__all__ = [
    "PENS",
    "contours",
    "cwnd",
    "delay",
    "difference",
    "effects",
    "equivalence",
    "intervals",
    "map",
    "save",
    "surface",
    "time_sequence",
]


def time_sequence(run: Run, flow: str, ax: Axes | None = None) -> Axes:
    """Bytes acknowledged, and sent up to now, over time."""
    t, acked = run.sample(f"flow/{flow}", "bytes_acked")
    t_sent, in_flight = run.sample(f"flow/{flow}", "in_flight_bytes")
    ax = axes(ax, f"{flow}: time and sequence", "time (s)", "sequence (MB)")
    if len(t) == len(t_sent):
        line(ax, 0, t, (acked + in_flight) / 1e6, "sent")
    line(ax, 1, t, acked / 1e6, "acknowledged")
    ax.legend(frameon=False)
    return ax


def cwnd(run: Run, flow: str, ax: Axes | None = None) -> Axes:
    """Congestion window and slow-start threshold over time."""
    ax = axes(ax, f"{flow}: congestion window", "time (s)", "window (kB)")
    t, window = run.sample(f"flow/{flow}", "cwnd_bytes")
    line(ax, 0, t, window / 1e3, "cwnd", drawstyle="steps-post")
    top = ax.get_ylim()[1]
    try:
        t, threshold = run.sample(f"flow/{flow}", "ssthresh_bytes")
    except KeyError:
        return ax
    # Before the first loss the threshold is infinite, which no axis shows.
    threshold = np.where(threshold / 1e3 > 4 * top, np.nan, threshold)
    if np.isfinite(threshold).any():
        line(ax, 1, t, threshold / 1e3, "ssthresh", drawstyle="steps-post")
        ax.legend(frameon=False)
    return ax


def delay(run: Run, flow: str, ax: Axes | None = None) -> Axes:
    """One-way delay over time: a point per ping, or the path's propagation delay if that is sampled."""
    for metric, label in [("delay_s", "one-way delay (ms)"), ("path_delay_s", "one-way propagation delay (ms)")]:
        try:
            t, seconds = run.sample(f"flow/{flow}", metric)
            break
        except KeyError:
            continue
    else:
        raise KeyError(f"flow {flow!r} has no samples of a delay; pings and flows over satellites have")
    hours = len(t) > 0 and t[-1] >= 3 * 3600
    ax = axes(ax, f"{flow}: delay", "time (h)" if hours else "time (s)", label)
    ax.plot(t / 3600 if hours else t, seconds * 1e3, ".", color=PENS[0][0], markersize=3)
    ax.set_ylim(bottom=0)
    return ax


def map(snapshot: Snapshot, path: list[str] | None = None, ax: Axes | None = None, legend: bool = True) -> Axes:
    """Satellites, links that are up and terminals on a map of the world; `path` is a list of nodes to highlight."""
    from ._map import draw

    if ax is None:
        _, ax = pyplot().subplots(figsize=(9, 5.2), layout="constrained")
    return draw(snapshot, ax, path, legend)


def intervals(
    table: Table,
    x: str,
    metric: str,
    *,
    by: str | None = None,
    confidence: float = 0.95,
    ax: Axes | None = None,
    labels: tuple[str, str, str] = ("", "", ""),
) -> Axes:
    """Means of `metric` over column `x` of a sweep's table, with Student's t intervals of their seeds; a line for each value of `by`.

    Failed runs are left out; a single run gives a point without an interval. `labels` are for x, y and the title. Without a
    label, an axis is named after its column, in the unit that suits its values, Mbit/s for `goodput_bps`; with a label the
    values are the column's.
    """
    from .stats import mean_interval

    for column in (x, metric, *([by] if by else [])):
        if column not in table.columns:
            raise KeyError(f"no column {column!r}; there are {', '.join(table.columns)}")
    at, values = np.asarray(table[x]), np.asarray(table[metric], dtype=float)
    of = np.asarray(table[by]) if by else np.full(len(at), "")
    named = list(labels[:2])
    for i, (column, data) in enumerate([(x, at), (metric, values)]):
        if not named[i]:
            unit, size = _labels.unit(column, data)
            named[i] = _labels.label(column, unit)
            if size != 1:
                at, values = (at / size, values) if i == 0 else (at, values / size)
    of_unit, of_size = _labels.unit(by or "", of)
    ax = axes(ax, labels[2], *named)
    series = list(dict.fromkeys(of))
    numbers = at.dtype.kind in "iuf"
    places = np.unique(at) if numbers else np.array(list(dict.fromkeys(at)))
    for n, name in enumerate(series):
        found = []
        for i, place in enumerate(places):
            here = values[(at == place) & (of == name) & np.isfinite(values)]
            if len(here):
                middle = float(here.mean())
                interval = mean_interval(here, confidence) if len(here) > 1 else None
                reach = (middle - interval.low, interval.high - middle) if interval else (0.0, 0.0)
                # Texts are equally spaced, with the series next to each other, so that none hides another.
                shift = 0.0 if numbers else 0.12 * (n - (len(series) - 1) / 2)
                found.append((place if numbers else i + shift, middle, *reach))
        if not found:
            continue
        where, middle, below, over = np.array(found, dtype=float).T
        colour, dash, marker = pen(n)
        ax.errorbar(
            where,
            middle,
            [below, over],
            color=colour,
            linestyle=dash if numbers else "none",
            linewidth=1.2,
            marker=marker,
            markersize=5,
            capsize=3,
            label=f"{name / of_size:g} {of_unit}".rstrip() if isinstance(name, (float, np.floating)) else str(name),
        )
    if not numbers:
        ax.set_xticks(range(len(places)), [str(place) for place in places])
    if by:
        ax.legend(frameon=False, ncols=1 if len(series) < 5 else 2, columnspacing=1.2, handlelength=3.6)
    return ax


def effects(found: Factorial, ax: Axes | None = None, labels: tuple[str, str] = ("", "")) -> Axes:
    """Main effects of a factorial design with their intervals, a group for each factor; hollow markers where the interval holds 0.

    `labels` are for y and the title; without them, y is named after the response, in the unit that suits it.
    """
    main = [effect for effect in found.effects if len(effect.factors) == 1]
    unit, size = _labels.unit(found.response, np.array([found.mean])) if not labels[0] else ("", 1.0)
    ax = axes(ax, labels[1], "", labels[0] or f"effect on {_labels.label(found.response, unit)}")
    ax.axhline(0, color="#3a3a3a", linewidth=0.8)
    ticks: list[tuple[float, str]] = []
    for n, factor in enumerate(found.factors):
        colour, _, marker = pen(n)
        for effect in (effect for effect in main if effect.factors[0] == factor.name):
            place = len(ticks) + 0.6 * n
            fill = colour if effect.significant else "white"
            reach = [[(effect.effect - effect.low) / size], [(effect.high - effect.effect) / size]]
            label = factor.name if effect.levels[0] == factor.levels[0] else None
            style = {"linestyle": "none", "marker": marker, "markersize": 6, "markerfacecolor": fill, "capsize": 3}
            ax.errorbar([place], [effect.effect / size], reach, color=colour, label=label, **style)
            ticks.append((place, effect.levels[0]))
    turned = max(len(name) for _, name in ticks) * len(ticks) > 80
    rotation, side = (30, "right") if turned else (0, "center")
    ax.set_xticks([place for place, _ in ticks], [name for _, name in ticks], rotation=rotation, ha=side)
    ax.legend(frameon=False)
    return ax


def save(picture: Axes | Figure, path: str | os.PathLike[str], *, width_cm: float | None = None) -> None:
    """Writes a picture for a paper: PDF (or the format of the name's ending) with text as text, and the same bytes each time.

    `width_cm` is the width on paper, such as 8.4 for a column; heights follow. Letters and lines shrink with it, but letters of
    10 points not below 7; a narrow picture is a little taller, so that it has room for them.
    """
    plt = pyplot()
    figure: Any = picture if hasattr(picture, "savefig") else picture.figure
    kind = os.path.splitext(os.fspath(path))[1].lower()
    # Journals refuse fonts of type 3; a date would make each file different.
    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(kind)
    if width_cm is not None and width_cm <= 0:
        raise ValueError(f"a width of {width_cm} cm is not above 0")
    with plt.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "skyhop"}):
        back = _shrink(figure, width_cm / 2.54) if width_cm is not None else lambda: None
        try:
            figure.savefig(path, dpi=300, metadata=undated)
        finally:
            back()


def _shrink(figure: Figure, width_in: float) -> Callable[[], None]:
    """Sets a figure's width. Returns a function that undoes it."""
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    before = figure.get_size_inches().copy()
    scale = min(1.0, max(0.7, width_in / before[0]))
    undo: list[tuple[Callable[..., object], Any]] = []
    for axis in [axis for ax in figure.axes for axis in ax._axis_map.values()]:
        # Ticks created while drawing take their size from here.
        ticks = axis.get_major_ticks()
        if ticks:
            size = ticks[0].label1.get_fontsize()
            undo.append((lambda size, axis=axis: axis.set_tick_params(labelsize=size), size))
    undo += [(text.set_fontsize, text.get_fontsize()) for text in figure.findobj(Text)]
    for line in figure.findobj(Line2D):
        undo += [(line.set_linewidth, line.get_linewidth()), (line.set_markersize, line.get_markersize())]
    for change, value in undo:
        change(value * scale)
    figure.set_size_inches(width_in, width_in * max(before[1] / before[0], 0.72 if scale < 0.8 else 0.0))

    def back() -> None:
        for change, value in undo:
            change(value)
        figure.set_size_inches(*before)

    return back
