"""Labels of axes: words in place of a dotted path, and a unit in which its values are short numbers.

Follows the names of columns, whose last part ends in an SI unit: `download.goodput_bps`, `links.satellite.rate_bps`.
Differs from the tables: a picture has Mbit/s, ms and kB, as is usual.
Leaves out columns without a unit, which keep their values.
"""

from __future__ import annotations

import numpy as np

#: Ending of a column: units from the largest down, and how much of the column's unit each is.
_UNITS: dict[str, list[tuple[str, float]]] = {
    "_bps": [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)],
    "_bytes": [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)],
    "_s": [("h", 3600.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6)],
    "_m": [("km", 1e3), ("m", 1.0)],
    "_deg": [("deg", 1.0)],
    "_packets": [("packets", 1.0)],
}


def words(column: str) -> str:
    """A column's name without its unit: "satellite rate" for `links.satellite.rate_bps`."""
    parts = column.split(".")
    if len(parts) > 2 and parts[0] in ("links", "flows", "terminals", "splices", "uplinks"):
        parts = parts[1:]
    name, _ = _ending(parts[-1])
    return " ".join([*parts[:-1], name]).replace("_", " ")


def unit(column: str, values: np.ndarray) -> tuple[str, float]:
    """The unit that suits the largest of `values`, and the divisor of a value; ("", 1) for a column without a unit."""
    _, units = _ending(column)
    if not units or values.dtype.kind not in "iuf":
        return "", 1.0
    finite = np.abs(values[np.isfinite(values.astype(float))].astype(float))
    largest = float(finite.max()) if len(finite) else 0.0
    # Hours are for days, not for a transfer of two.
    fits = [one for one in units if largest >= one[1] * (3.0 if one[0] == "h" else 1.0)]
    return fits[0] if fits else units[-1] if largest > 0 else next(one for one in units if one[1] == 1.0)


def label(column: str, unit: str) -> str:
    """The words with their unit."""
    return f"{words(column)} ({unit})" if unit else words(column)


def _ending(name: str) -> tuple[str, list[tuple[str, float]]]:
    for ending, units in _UNITS.items():
        if name.endswith(ending) and name != ending[1:]:
            return name.removesuffix(ending), units
    return name, []
