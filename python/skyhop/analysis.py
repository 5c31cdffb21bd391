"""Full factorial designs: effects of a sweep's factors, their intervals, and the allocation of variation.

Follows Jain, The Art of Computer Systems Performance Analysis, chapters 20 to 23, and KG 4.4.1.
Differs from statsmodels: effects of a factor sum to 0, a table with holes is refused, and findings are sentences.
Leaves out the arithmetic, which `skyhop sweep effects` shares, and the picture, which is `skyhop.plot.effects`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _skyhop

__all__ = ["Component", "Effect", "Factor", "Factorial", "Spread", "factorial"]


@dataclass(frozen=True)
class Factor:
    """A factor, its levels in the order of the runs, and standard deviations of its effects (`paper_deviation` after KG 4.4.1)."""

    name: str
    levels: tuple[str, ...]
    deviation: float
    paper_deviation: float | None


@dataclass(frozen=True)
class Component:
    """A component of the variation. `factors` is empty for the residual; `f` and `p` are those of the F test."""

    factors: tuple[str, ...]
    name: str
    sum_of_squares: float
    df: int
    percent: float
    f: float | None
    p: float | None


@dataclass(frozen=True)
class Effect:
    """The effect of a level, or of two levels beyond the sum of their own effects; `paper` is the interval after KG 4.4.1."""

    factors: tuple[str, ...]
    levels: tuple[str, ...]
    effect: float
    low: float
    high: float
    paper: tuple[float, float] | None
    significant: bool


@dataclass(frozen=True)
class Spread:
    """An error: its source, standard deviation, degrees of freedom, and the quantile of Student's t for its intervals."""

    source: str
    standard_error: float
    df: int
    t: float


@dataclass(frozen=True)
class Factorial:
    """The analysis of a full factorial design. `print` shows it as tables and findings."""

    response: str
    runs: int
    replications: int
    left_out: int
    confidence: float
    mean: float
    squares: float
    squares_of_mean: float
    variation: float
    factors: tuple[Factor, ...]
    components: tuple[Component, ...]
    effects: tuple[Effect, ...]
    error: Spread
    paper: Spread | None
    findings: tuple[str, ...]
    _text: str
    _markdown: str

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<factorial design: {self.response} over {', '.join(factor.name for factor in self.factors)}, {self.runs} runs>"

    def _repr_markdown_(self) -> str:
        return self._markdown

    def to_markdown(self) -> str:
        """Tables and findings in Markdown."""
        return self._markdown

    def component(self, *factors: str) -> Component:
        """The part of the variation of a factor, or of the interaction of two."""
        for component in self.components:
            if component.factors and set(component.factors) == set(factors):
                return component
        names = ", ".join(component.name for component in self.components if component.factors)
        raise KeyError(f"no component {' * '.join(factors)!r}; there are {names}")

    def effect(self, **levels: Any) -> Effect:
        """The effect of a level, `effect(flavor="sack")`, or of two levels. Names with dots: `effect(**{"links.a.rate_bps": 1e6})`."""
        wanted = {name: _text(level) for name, level in levels.items()}
        for effect in self.effects:
            if dict(zip(effect.factors, effect.levels)) == wanted:
                return effect
        known = "; ".join(f"{factor.name}: {', '.join(factor.levels)}" for factor in self.factors)
        raise KeyError(f"no effect of {wanted}; there are {known}")


def factorial(
    results: Any, response: str, factors: Sequence[str] | None = None, *, confidence: float = 0.9
) -> Factorial:
    """Analyses column `response` of a table of runs over columns `factors`; by default over all varied parameters.

    `results` is a sweep, a data frame of pandas or polars, or a mapping of names to columns. Every combination of levels must
    be there, each with as many runs; runs whose response is missing are left out. With several runs a cell the error is their
    spread; with one it is the residual of main effects and first-order interactions (of two factors, the interaction).
    `Factorial.paper` is the error of KG 4.4.1, from cell means, and `Effect.paper` its interval; without replications they are
    the textbook's.

    Raises `ValueError` for a grid with holes, which it names, or with unequal numbers of runs; for a factor with one level, a
    response that is constant or not a number, and a missing column.
    """
    if isinstance(factors, str):
        raise ValueError(f"factors is the text {factors!r}; expected a list of columns, such as [{factors!r}]")
    names = [str(name) for name in (results.columns if hasattr(results, "columns") else results)]
    columns = [(name, _values(results[name])) for name in names]
    found, findings, text, markdown = _skyhop.factorial(columns, response, list(factors or ()), confidence)
    data = json.loads(found)
    return Factorial(
        **{name: data[name] for name in ("response", "runs", "replications", "left_out", "confidence", "mean")},
        **{name: data[name] for name in ("squares", "squares_of_mean", "variation")},
        factors=tuple(Factor(**_fixed(factor)) for factor in data["factors"]),
        components=tuple(Component(**_fixed(component)) for component in data["components"]),
        effects=tuple(Effect(**_fixed(effect)) for effect in data["effects"]),
        error=Spread(**data["error"]),
        paper=None if data["paper"] is None else Spread(**data["paper"]),
        findings=tuple(findings),
        _text=text,
        _markdown=markdown,
    )


def _fixed(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _values(column: Any) -> list[float] | list[str]:
    values = np.asarray(column)
    if values.dtype.kind in "iuf":
        return [float(value) for value in values.tolist()]
    listed = values.tolist()
    if values.dtype.kind == "O" and all(isinstance(v, (int, float)) and not isinstance(v, bool) or v is None for v in listed):
        return [float("nan") if v is None else float(v) for v in listed]
    return [_text(value) for value in listed]


def _text(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return "" if value is None else str(value)
