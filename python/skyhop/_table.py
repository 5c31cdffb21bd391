"""Tables of a run: for numpy, and for pandas and polars if they are installed.

Follows the Arrow PyCapsule protocol (`__arrow_c_stream__`), so `polars.DataFrame(table)` works too.
Differs from a data frame: it only stores and exports; selecting is left to the library of your choice.
Leaves out writing files, which `skyhop.run(..., out="DIR")` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _skyhop


class Table:
    """Columns of equal length. `table["value"]` is a numpy array; units are in the columns' names."""

    def __init__(self, raw: _skyhop.Table, what: str) -> None:
        self._raw = raw
        self._what = what
        self._arrays: dict[str, np.ndarray] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (bytes(self._raw.to_bytes()), self._what)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._raw.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._raw.columns

    def to_dict(self) -> dict[str, np.ndarray]:
        """Each column as a read-only numpy array. Missing numbers are NaN."""
        if self._arrays is None:
            self._arrays = {name: _array(column) for name, column in self._raw.buffers().items()}
        return dict(self._arrays)

    def to_pandas(self) -> Any:
        """A pandas data frame. Needs `pip install skyhop[pandas]`."""
        try:
            import pandas
            import pyarrow
        except ImportError as e:
            raise ImportError(f"{e.name} is not installed; pip install skyhop[pandas]") from e
        frame = pyarrow.table(self).to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        return frame

    def to_polars(self) -> Any:
        """A polars data frame. Needs `pip install skyhop[polars]`."""
        try:
            import polars
        except ImportError as e:
            raise ImportError("polars is not installed; pip install skyhop[polars]") from e
        return polars.DataFrame(self)

    def __getitem__(self, column: str) -> np.ndarray:
        arrays = self.to_dict()
        if column not in arrays:
            raise KeyError(f"no column {column!r}; there are {', '.join(self.columns)}")
        return arrays[column]

    def __len__(self) -> int:
        return len(self._raw)

    def __repr__(self) -> str:
        return f"<{self._what}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return f"<div>{_html_table(self.columns, self._head(20))}{_more(len(self) - 20)}</div>"

    def _head(self, rows: int) -> list[list[str]]:
        columns = [self[name][:rows] for name in self.columns]
        return [[_cell(value) for value in row] for row in zip(*columns)]


def _again(data: bytes, what: str) -> Table:
    """A table that was pickled."""
    return Table(_skyhop.Table.from_bytes(data), what)


def _array(column: list[str] | tuple[str, bytes]) -> np.ndarray:
    if isinstance(column, tuple):
        code, data = column
        return np.frombuffer(data, dtype=code)
    array = np.empty(len(column), dtype=object)
    array[:] = column
    array.flags.writeable = False
    return array


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return str(value)


def _html_table(columns: list[str], rows: list[list[str]]) -> str:
    from html import escape

    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _more(rows: int) -> str:
    return f"<p>and {rows:,} more rows</p>" if rows > 0 else ""
