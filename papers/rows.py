"""Rows of a reproduction: a published number beside ours, its accepted range, and the verdict.

Differs from a test: a known difference is a verdict of its own, with its reason, and rows that could not fail are refused.
Leaves out running scripts and writing tables (`harness`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

PAPER = "paper"
#: A range whose ends differ by this factor does not constrain a number.
WIDEST = 10.0


@dataclass(frozen=True)
class Row:
    """One number: the published value, ours, and the accepted range."""

    metric: str
    unit: str
    #: None if the publication has words or a drawing only; the bounds then say how the words are read.
    published: float | None
    ours: float
    low: float
    high: float
    #: Reason of the bounds: digits of a figure, the paper's own interval, seeds, the reading of the words.
    why: str
    #: Reason of a known difference, written by hand; empty if the row should hold.
    known: str = ""
    #: Source of `published` if other than the publication: ns-2.35, a formula, a trace.
    of: str = PAPER

    @property
    def holds(self) -> bool:
        return self.low <= self.ours <= self.high

    @property
    def verdict(self) -> str:
        if self.holds:
            return "holds"
        return "differs, as known" if self.known else "differs"

    @property
    def expected(self) -> bool:
        """True if the verdict is the one on record. A known difference that has disappeared is unexpected too."""
        return self.holds != bool(self.known)

    @property
    def deviation(self) -> float | None:
        """Ours minus the published number, in its unit."""
        return None if self.published is None else self.ours - self.published

    @property
    def kind(self) -> str:
        """The table to which the row belongs."""
        # A reason that begins with "words" or "drawn" marks a number that is not printed: "none" is 0, "once" and "as much" are 1.
        if self.published is None or (self.published in (0, 1) and self.why.startswith(("words", "drawn"))):
            return "in words"
        return "published" if self.of == PAPER else "other"

    def faults(self) -> list[str]:
        """Reasons for which the row's verdict is void; empty if the row can fail."""
        found = []
        low, high, published = self.low, self.high, self.published
        if not self.why.strip():
            found.append("the range has no reason")
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            return [*found, f"{low:g} to {high:g} is no range"]
        if published is not None and not low - 1e-9 * abs(low) <= published <= high + 1e-9 * abs(high):
            found.append(f"{low:g} to {high:g} leaves out the published {published:g}")
        # A tolerance around zero has two sides; elsewhere the sign is part of the claim.
        if low * high <= 0 and low != high and published != 0:
            found.append(f"{low:g} to {high:g} accepts nothing, or the opposite sign")
        elif self.unit == "log10":
            if 10 ** (high - low) >= WIDEST:
                found.append(f"{low:g} to {high:g} spans a factor of ten")
        elif low * high > 0 and max(abs(low), abs(high)) >= WIDEST * min(abs(low), abs(high)):
            found.append(f"{low:g} to {high:g} spans a factor of ten")
        if self.unit == "times" and published != 1 and low < 1 < high:
            found.append(f"{low:g} to {high:g} times accepts more and less")
        return found


class RowError(ValueError):
    """Rows that cannot fail, one per line of the text."""


def refuse(name: str, rows: list[Row]) -> None:
    """Raises `RowError` if the accepted range of a row is void."""
    faults = [f"{name}: {row.metric}: {fault}" for row in rows for fault in row.faults()]
    if faults:
        raise RowError("\n".join(faults))


@dataclass
class Reproduction:
    """Result of a script."""

    rows: list[Row]
    figure: Any = None
    #: Differences from the publication's setting, and their likely effect on the numbers.
    remarks: list[str] = field(default_factory=list)
    #: Parameters that the publication does not state: the value chosen here, and the effect of other values.
    sensitivity: list[str] = field(default_factory=list)


Done = list[tuple[str, Any, Reproduction]]
#: The tables by kind of row, with their titles.
KINDS = {
    "published": "Numbers that the publications print",
    "other": "Numbers of other origin: ns-2.35, formulas, a trace",
    "in words": "Claims in words and drawings: the bounds are how they were read",
}


def counts(done: Done) -> list[str]:
    """A line for each kind of row: the numbers of rows that hold, differ as known, and differ."""
    lines = []
    for kind, title in KINDS.items():
        verdicts = [row.verdict for _, _, result in done for row in result.rows if row.kind == kind]
        hold, known, differ = (verdicts.count(verdict) for verdict in ("holds", "differs, as known", "differs"))
        lines.append(f"{title}: {len(verdicts)}; {hold} hold, {known} known to differ, {differ} differ")
    return lines
