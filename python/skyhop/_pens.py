"""Pens and axes that all pictures share.

Follows the needs of grey prints: lines differ in dash, points in marker, areas in lightness or hatching.
Differs from matplotlib's defaults, whose lines differ in colour alone.
Leaves out style sheets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: (colour, dash, marker) of successive series. Dashes are in line widths; no two are alike in grey.
PENS: list[tuple[str, Any, str]] = [
    ("#0b5fa5", "-", "o"),
    ("#d95f02", (0, (5, 2)), "s"),
    ("#1b7f5c", (0, (1.2, 1.6)), "^"),
    ("#9a3d8f", (0, (6, 1.8, 1.2, 1.8)), "D"),
    ("#3a3a3a", (0, (10, 3)), "v"),
    ("#7a5c00", (0, (4, 1.6, 1.2, 1.6, 1.2, 1.6)), "x"),
]


def pen(number: int) -> tuple[str, Any, str]:
    """Colour, dash and marker of series `number`, from 0. After six they repeat."""
    return PENS[number % len(PENS)]


def pyplot() -> Any:
    """matplotlib.pyplot; the error without it names the package to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as e:
        raise ImportError("matplotlib is not installed; pip install skyhop[plot]") from e
    return plt


def axes(ax: Axes | None, title: str, x: str, y: str) -> Axes:
    """`ax`, or axes of a new figure, with labels and a pale grid."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=(7, 3.6), layout="constrained")
    ax.set(title=title, xlabel=x, ylabel=y)
    ax.grid(color="#e1e4e8", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def line(ax: Axes, number: int, x: np.ndarray, y: np.ndarray, label: str, **style: Any) -> None:
    """A line with pen `number`."""
    colour, dash, _ = pen(number)
    ax.plot(x, y, color=colour, linestyle=dash, linewidth=1.4, label=label, **style)


def points(**columns: Any) -> list[np.ndarray]:
    """Arrays of one length from any sequences of numbers."""
    arrays = [np.asarray(values, dtype=float).ravel() for values in columns.values()]
    if len({len(values) for values in arrays}) > 1:
        counts = [str(len(values)) for values in arrays]
        raise ValueError(f"{', '.join(counts[:-1])} and {counts[-1]} values do not make points")
    return arrays
