"""Pictures over two parameters: contours, surfaces, differences, and the equivalence metric of a surface.

Follows TH chapters 4 and 5: rates and delays, on logarithmic axes.
Differs from TH, who prints red and blue: lightness, hatching and circles, so that grey is enough.
Leaves out simulation; points come from a sweep's table, on a grid or scattered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import equivalence as metric
from ._pens import PENS, axes, points, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = PENS[0][0]
Labels = tuple[str, str, str]


def contours(
    x: Any, y: Any, z: Any, levels: Any = (0.5, 0.6, 0.7, 0.8, 0.9), ax: Axes | None = None, *, labels: Labels = ("", "", "")
) -> Axes:
    """Lines of equal `z` over scattered points (`x`, `y`), both on logarithmic axes: utilisation over rates and delays (TH chapter 4).

    `labels` are for x, y and the title.
    """
    x, y, z = points(x=x, y=y, z=z)
    ax = axes(ax, labels[2], labels[0], labels[1])
    # Triangles in the logarithms, so that the grid's decades are alike.
    edges = [min(z.min(), levels[0]) - 1e-9, *levels, max(z.max(), levels[-1]) + 1e-9]
    filled = ax.tricontourf(np.log10(x), np.log10(y), z, levels=edges, cmap="Greys_r", alpha=0.75)
    lines = ax.tricontour(np.log10(x), np.log10(y), z, levels=list(levels), colors=INK, linewidths=1.0)
    ax.clabel(lines, fontsize=8, fmt="%g")
    _decades(ax.xaxis, x)
    _decades(ax.yaxis, y)
    ax.figure.colorbar(filled, ax=ax, format="%.2g")
    return ax


def surface(
    x: Any, y: Any, z: Any, ax: Axes | None = None, *, labels: tuple[str, str, str, str] = ("", "", "", ""), level: float | None = None
) -> Axes:
    """A surface `z` over scattered points (`x`, `y`), both on logarithmic axes (TH figures 4.1 and 5.1).

    `labels` are for x, y, z and the title. `level` is drawn as a line around the surface at that height. `ax` is of projection "3d".
    """
    x, y, z = points(x=x, y=y, z=z)
    if ax is None:
        _, ax = pyplot().subplots(figsize=(6, 4.8), subplot_kw={"projection": "3d"})
    if not hasattr(ax, "plot_trisurf"):
        raise ValueError('a surface needs axes of projection "3d": plt.subplots(subplot_kw={"projection": "3d"})')
    # matplotlib's types for all axes do not include those with three dimensions.
    solid: Any = ax
    # matplotlib sorts whole artists by depth, which would hide the level's line.
    solid.computed_zorder = False
    lightness = {"cmap": "Greys_r", "edgecolor": "0.35", "linewidth": 0.25, "vmin": z.min() - 0.6 * np.ptp(z), "vmax": z.max(), "zorder": 1}
    order = np.lexsort((y, x))
    across, along = np.unique(x), np.unique(y)
    if (
        len(across) * len(along) == len(x)
        and (x[order] == np.repeat(across, len(along))).all()
        and (y[order] == np.tile(along, len(across))).all()
    ):
        xs, ys, zs = (v[order].reshape(len(across), len(along)) for v in (np.log10(x), np.log10(y), z))
        solid.plot_surface(xs, ys, zs, rstride=1, cstride=1, **lightness)
        draw = solid.contour
    else:
        xs, ys, zs = np.log10(x), np.log10(y), z
        solid.plot_trisurf(xs, ys, zs, **lightness)
        draw = solid.tricontour
    if level is not None and z.min() < level < z.max():
        draw(xs, ys, zs, levels=[level], colors=INK, linewidths=2.2, zorder=2)
    solid.set(title=labels[3], xlabel=labels[0], ylabel=labels[1], zlabel=labels[2])
    _decades(ax.xaxis, x)
    _decades(ax.yaxis, y)
    # Rates grow towards the eye, so that the plain of full use lies behind the slope.
    solid.view_init(elev=28, azim=50)
    solid.set_box_aspect(None, zoom=0.84)
    return ax


def difference(x: Any, y: Any, a: Any, b: Any, ax: Axes | None = None, *, labels: Labels = ("", "", "")) -> Axes:
    """Regions in which `b` is above `a` and below it, over scattered points: two variants over rates and delays (TH figures 4.2 and 4.3).

    Filled circles are above, open ones below; their area is the difference, the largest is in the title.
    """
    x, y, a, b = points(x=x, y=y, a=a, b=b)
    gap = b - a
    most = float(abs(gap).max()) if len(gap) else 0.0
    ax = axes(ax, f"{labels[2]} (largest difference {most:.3g})".strip(), labels[0], labels[1])
    _circles(ax, x, y, gap, most)
    ax.set(xscale="log", yscale="log")
    from matplotlib.ticker import LogLocator

    for axis, values in ((ax.xaxis, x), (ax.yaxis, y)):
        axis.set_major_locator(LogLocator(subs=_steps(values)))
        axis.set_major_formatter(lambda v, _: _plain(v))
        axis.set_minor_formatter(lambda v, _: "")
    return ax


def equivalence(rate_kbps: Any, rtt_ms: Any, utilisation: Any, wanted: float = 0.8, *, title: str = "") -> Figure:
    """Utilisation and the equivalence metric as surfaces, and where each is above its level (TH figures 5.1 and 5.6).

    Below, hatched is what falls short: of `wanted`, and of the level that `equivalence.level` finds. Circles are points on which the two
    disagree: filled ones are used well and lie below the level, open ones the other way; their area is how far they are from `wanted`.
    """
    b, d, used = points(rate_kbps=rate_kbps, rtt_ms=rtt_ms, utilisation=utilisation)
    found = metric.level(b, d, used, wanted)
    e = metric.equivalence(b, d)
    figure = pyplot().figure(figsize=(9, 8), layout="constrained")
    figure.get_layout_engine().set(hspace=0.08)
    if title:
        figure.suptitle(title)
    rate, rtt = "rate (kbit/s)", "RTT (ms)"
    above = [figure.add_subplot(2, 2, n, projection="3d") for n in (1, 2)]
    surface(b, d, used, above[0], labels=(rate, rtt, "utilisation", "(a) utilisation"), level=wanted)
    surface(b, d, e, above[1], labels=(rate, rtt, "E", "(b) equivalence metric"), level=found.level)
    below = [figure.add_subplot(2, 2, n) for n in (3, 4)]
    _region(below[0], b, d, used, wanted, f"(c) utilisation ≥ {wanted:.0%}: white")
    _region(below[1], b, d, e, found.level, f"(d) E ≥ {found.level:.4f}: white; {found.differing} of {found.points} differ")
    wrong = (used >= wanted) != (np.round(e, 9) >= found.level)
    if wrong.any():
        off = np.where(used >= wanted, 1.0, -1.0) * abs(used - wanted)
        _circles(below[1], np.log10(b[wrong]), np.log10(d[wrong]), off[wrong], float(abs(off[wrong]).max()))
    return figure


def _region(ax: Axes, x: np.ndarray, y: np.ndarray, z: np.ndarray, level: float, title: str) -> None:
    axes(ax, title, "rate (kbit/s)", "RTT (ms)")
    ax.title.set_fontsize("medium")
    if z.min() < level:
        ax.tricontourf(np.log10(x), np.log10(y), z, levels=[z.min() - 1, level], colors=["0.86"], hatches=["///"])
    if z.min() < level <= z.max():
        ax.tricontour(np.log10(x), np.log10(y), z, levels=[level], colors=INK, linewidths=1.6)
    _decades(ax.xaxis, x)
    _decades(ax.yaxis, y)


def _circles(ax: Axes, x: np.ndarray, y: np.ndarray, gap: np.ndarray, most: float) -> None:
    # Many circles are smaller, so that neighbours stay apart.
    largest = max(20.0, min(90.0, 12_000 / max(len(gap), 1)))
    size = largest * abs(gap) / (most or 1.0)
    for above, inside in ((gap > 0, INK), (gap < 0, "white")):
        ax.scatter(x[above], y[above], s=size[above], facecolors=inside, edgecolors=INK, linewidths=0.8, zorder=3)


def _decades(axis: Any, values: np.ndarray) -> None:
    """Ticks for an axis that holds logarithms: 1, 2 and 5 of each decade, or decades alone if there are many."""
    low, high = np.log10(values.min()), np.log10(values.max())
    ticks = [np.log10(step) + decade for decade in range(int(np.floor(low)), int(np.ceil(high)) + 1) for step in _steps(values)]
    ticks = [tick for tick in ticks if low - 1e-9 <= tick <= high + 1e-9]
    if len(ticks) >= 2:
        axis.set_ticks(ticks)
    axis.set_major_formatter(lambda v, _: _plain(10**v))


def _steps(values: np.ndarray) -> tuple[int, ...]:
    """Which numbers of a decade have a tick."""
    return (1, 2, 5) if len(values) and values.max() < 100 * values.min() else (1,)


def _plain(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= value < 1e7 else f"{value:.3g}"
