"""The harness of the publications: rows that cannot fail are rejected, and wrong implementations are detected.

Follows `papers/harness.py`, `papers/mutate.py` and `papers/seeds.py`, which are run as `make papers`, `make papers-mutate` and
`make papers-seeds` do. Differs from those: invented rows, five of the mutations, four entries with other seeds, and KG's fairness worked
out by hand.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
from beside import shared

PAPERS = Path(__file__).resolve().parents[2] / "papers"
sys.path.insert(0, str(PAPERS))

import compared  # noqa: E402
import harness  # noqa: E402
import kota  # noqa: E402
import mutate  # noqa: E402
import seeds  # noqa: E402
from rows import Row, RowError, refuse  # noqa: E402


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (Row("m", "s", 1.06, 1.24, 1.1, 1.3, "seeds"), "leaves out the published 1.06"),
        (Row("m", "s", 2.0, 36.0, 1.8, 160.0, "words"), "spans a factor of ten"),
        (Row("m", "", None, -3.0, -20.0, -2.0, "words"), "spans a factor of ten"),
        (Row("m", "log10", None, -5.0, -5.6, -4.5, "words"), "spans a factor of ten"),
        (Row("m", "s", 3.0, 1.0, -3.0, 3.0, "words"), "opposite sign"),
        (Row("m", "s", None, 0.02, 0.0, 0.1, "words"), "accepts nothing"),
        (Row("m", "times", 1.3, 1.2, 0.9, 1.5, "words"), "accepts more and less"),
        (Row("m", "s", 2.0, 2.0, 1.9, 2.1, ""), "no reason"),
        (Row("m", "s", 2.0, 2.0, 1.9, float("inf"), "words"), "is no range"),
    ],
)
def test_a_row_that_cannot_fail_is_refused(row: Row, fault: str) -> None:
    with pytest.raises(RowError, match=f"entry: m: .*{fault}"):
        refuse("entry", [row])


def test_a_row_that_can_fail_is_not() -> None:
    good = [
        Row("m", "s", 2.0, 2.5, 1.9, 2.1, "half of the last digit", known="another queue"),
        Row("m", "", 0, 0.001, -0.01, 0.01, "words: none; seeds"),
        Row("m", "times", 1, 1.01, 0.9, 1.1, "words: as much"),
        Row("m", "s", 1283, 1290, 1200, 1300, "seeds", of="ns-2.35"),
    ]
    refuse("entry", good)
    assert [row.kind for row in good] == ["published", "in words", "in words", "other"]
    assert [row.expected for row in good] == [True, True, True, True]


@pytest.mark.parametrize("path", sorted(PAPERS.glob("**/*.py")), ids=lambda path: path.stem)
def test_no_known_difference_is_worked_out_from_a_result(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and "known" in t.id.lower() for t in node.targets):
            value = node.value
        elif isinstance(node, ast.keyword) and node.arg == "known":
            value = node.value
        else:
            continue
        compared = [op for c in ast.walk(value) if isinstance(c, ast.Compare) for op in c.ops]
        assert not any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in compared), f"{path}:{value.lineno}"


def test_every_entry_has_mutations() -> None:
    assert sorted(mutate.CASES) == sorted(harness.entries())
    assert all(mutation in mutate.CASES[entry] for entry, mutation in mutate.QUICK.items())


@pytest.mark.parametrize(("entry", "mutation"), mutate.QUICK.items(), ids=mutate.QUICK)
def test_wrong_on_purpose_is_noticed(entry: str, mutation: str) -> None:
    first, news, rows = mutate.noticed(entry, mutation)
    assert news, f"{mutation}: {first or f'no row of {rows} notices'}"


def test_verdicts_stay_with_other_seeds() -> None:
    outcomes = list(seeds.apart(1000, list(seeds.QUICK)))
    assert [outcome.entry for outcome in outcomes] == list(seeds.QUICK)
    assert not [(outcome.entry, outcome.flips, outcome.error) for outcome in outcomes if outcome.flips or outcome.error]


def test_the_table_of_other_seeds_has_no_flip_that_is_not_open() -> None:
    table = (PAPERS / "seeds.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|") and "/" in line]
    assert {line[0] for line in lines} == set(harness.entries())
    assert [line[0] for line in lines if any(flips not in ("0", "-") for flips in line[2:-2])] == list(seeds.OPEN)


def test_every_published_number_has_a_row_or_a_reason() -> None:
    shared("papers/published.csv")
    numbers = compared.published()
    text = (PAPERS / "compared.md").read_text(encoding="utf-8")
    told = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")][2:]
    assert [(line[0], line[1], line[4]) for line in told] == [
        (n.paper, n.item, f"{n.value:g} {n.unit}".strip()) for n in numbers
    ]
    entries = harness.entries()
    for line, number in zip(told, numbers):
        place = compared.row_of(number)
        if place is None:
            assert line[5] == "none" and line[6] == compared.reason(number)
        else:
            assert place[0] in entries and line[6] == f"{place[0]}: {place[1]}"


@pytest.mark.parametrize(
    ("scheduled", "expected"),
    [
        # A share of 20: the first takes 5. The others share 95, of which the second's 22 is less than 23.75. Three share 73.
        ([5, 22, 40, 60, 200], [5, 22, 73 / 3, 73 / 3, 73 / 3]),
        # All below their shares: the link is not the limit.
        ([1, 2, 3], [1, 2, 3]),
        ([500, 300, 200, 100], [25, 25, 25, 25]),
    ],
)
def test_expected_rates_of_kota_are_max_min(scheduled: list[float], expected: list[float]) -> None:
    assert kota.max_min(np.array(scheduled, float), 100.0) == pytest.approx(expected)


def test_fairness_of_kota_counts_the_connections_that_starve() -> None:
    expected = np.array([5, 22, 73 / 3, 73 / 3, 73 / 3])
    assert kota.fairness(0.7 * expected, expected) == pytest.approx(1)
    # Four of five with as much of what they may expect, and one with nothing: 16 / (5 * 4).
    assert kota.fairness(expected * [1, 1, 1, 1, 0], expected) == pytest.approx(0.8)
    # What one has beyond its share counts as well: (4 + 2)^2 / (5 * (4 + 4)).
    assert kota.fairness(expected * [1, 1, 1, 1, 2], expected) == pytest.approx(0.9)
