"""Every published number, and the row that compares it or the reason why none does.

Follows `published.csv`, the numbers that the publications print (looked for in ../shared/papers), and the table of a full run of
`harness.py`. Differs from the gallery, which goes by figure: here it is number by number, and a number without a row is an error.
Leaves out claims in words.

    python papers/compared.py [--run out/papers/table.csv] [--table papers/compared.md]
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PUBLISHED = HERE.parents[1] / "shared" / "papers" / "published.csv"
HT, TH, WP, KG = "henderson1999", "thompson2004", "wood2001", "kota1999"


@dataclass(frozen=True)
class Number:
    """A line of `published.csv`."""

    paper: str
    item: str
    series: str
    metric: str
    value: float
    unit: str


def published() -> list[Number]:
    with PUBLISHED.open(encoding="utf-8") as file:
        lines = csv.DictReader(file)
        return [Number(n["paper"], n["item"], n["series"], n["metric"], float(n["value"]), n["unit"]) for n in lines]


KERNEL = "a Linux kernel of 2002 (2.4.18) over NIST Net; `make compare` holds the simulator against one of today"
DERIVED = "follows from tables 5, 8 and 11, from whose printed values the entries table_6, table_9 and table_12 work it out"
#: Numbers that no row compares, by paper and item, or by paper, item and the beginning of the series.
WITHOUT_ROW = {
    (TH, "table-6.4"): KERNEL,
    (TH, "table-6.5"): KERNEL,
    (TH, "table-6.7", "emulation"): KERNEL,
    (TH, "table-6.8", "emulation"): KERNEL,
    (TH, "table-6.9", "emulation"): KERNEL,
    **{(KG, f"table-{n}"): DERIVED for n in (6, 7, 9, 10, 12, 13)},
}
#: Figures and sections: the entry and the row of each number.
ONE_BY_ONE = {
    (HT, "fig-4.13", "throughput_drop_20_to_600ms_max"): ("fig_4_13", "SACK-NewReno, drop of goodput from 20 to 600 ms"),
    (HT, "fig-4.24", "reverse_over_forward"): ("fig_4_24", "RTT 600 ms, split: back over forward"),
    (HT, "fig-5.7", "max_goodput_1Mbps"): ("fig_5_7", "goodput without errors to speak of (1e-8)"),
    (HT, "fig-5.7", "packet_loss_at_ber_1e-4"): ("fig_5_7", "packets spoilt at 1e-4"),
    (HT, "fig-5.10", "reverse_reduction"): ("fig_5_11", "RTT 600 ms: TCP over STP"),
    (HT, "sec-5.3", "reverse_channel_floor"): ("narrow_return", "narrowest way back that serves, of those tried"),
    (HT, "fig-6.5", "share_of_delays_over_100ms_max"): ("fig_6_4", "Teledesic, pings above 100 ms"),
    (HT, "fig-6.4", "spread_at_fixed_distance"): ("fig_6_4", "Teledesic, spread of delay at one distance"),
    (HT, "fig-6.8", "delay_min"): ("fig_6_8", "least delay"),
    (HT, "fig-6.8", "delay_max"): ("fig_6_8", "largest delay"),
    (HT, "fig-6.9", "handoff_step_max"): ("fig_6_8", "step at a handover, 99th percentile"),
    (HT, "fig-6.10", "delay_low_cluster"): ("fig_6_10", "delay with two satellites, median"),
    (HT, "fig-6.10", "delay_high_cluster"): ("fig_6_10", "delay with five satellites, median"),
    (HT, "fig-6.10", "seam_step"): ("fig_6_10", "step when the seam comes or leaves, median"),
    (HT, "fig-6.12", "min_hop_penalty_average_max"): ("fig_6_4", "Teledesic, fewest hops over least delay, mean"),
    (HT, "sec-6.5", "average_worse_than_min_hop_max"): ("fig_6_21", "behind fewest hops, mean above 5000 km"),
    (HT, "sec-6.5", "average_worse_than_min_delay"): ("fig_6_22", "hybrid behind least delay, mean above 5000 km"),
    (HT, "fig-6.22", "maximum_worse_than_min_delay"): ("fig_6_22", "hybrid behind least delay, largest but one in a thousand"),
    (HT, "fig-6.19", "cross_seam_plane_crossing_latitude"): ("fig_6_19", "latitude at which planes 0 and 11 cross"),
    (HT, "sec-6.6.1", "cell_count"): ("fig_6_15", "cells between the caps"),
    (HT, "sec-6.6.1", "grid_points"): ("fig_6_15", "points of the grid"),
    (HT, "sec-6.6.1", "cell_base_max"): ("fig_6_15", "base, longest"),
    (HT, "sec-6.6.1", "cell_base_min"): ("fig_6_15", "base, shortest"),
    (HT, "fig-6.24", "state_length"): ("fig_6_24", "length of a state"),
    (HT, "fig-6.24", "temporal_consistency_low"): ("fig_6_24", "0.0, entries that stay, low"),
    (HT, "fig-6.24", "temporal_consistency_high"): ("fig_6_24", "0.0, entries that stay, high"),
    (HT, "fig-6.24", "geographic_consistency"): ("fig_6_24", "Iridium, as geographic forwarding"),
    (HT, "fig-6.25", "aggregated_entries"): ("fig_6_25", "entries in the best place, greedy"),
    (HT, "fig-6.26", "aggregation_reduction"): ("fig_6_26", "as in the thesis, mean reduction"),
    (WP, "fig-4", "uplink_downlink_rate"): ("fig_4", "rate up and down"),
    (WP, "fig-4", "isl_rate"): ("fig_4", "rate between satellites"),
    (WP, "fig-4", "packet_size"): ("fig_4", "packet"),
    (WP, "fig-4", "duration"): ("fig_4", "length of a transfer"),
    (WP, "fig-4", "delayed_ack_timer"): ("fig_4", "longest wait of an acknowledgment"),
    (WP, "fig-4", "links"): ("fig_4", "packets lost or dropped"),
    (WP, "fig-4", "goodput_order"): ("fig_4", "curves that lie and rise as the paper's, share of four"),
    (WP, "fig-5", "goodput_order"): (
        "fig_5",
        "costs of delay that are a twentieth and more over several paths, and less over one, share of four",
    ),
    (WP, "fig-3", "seam_effect"): ("fig_3", "pairs whose delay jumps without links across the seam, and is less with them, share of two"),
}
TABLE_4_1 = {"benchmark": "usual", "ibk_on_300ms": "by 4 on 300 ms", "ibk_on_600ms": "by 4 on 600 ms"}
KINDS = {"tcp": "TCP", "ttcp": "T/TCP", "4kss": "4KSS", "ttcp+4kss": "both"}
COLUMNS = {"goodput": "goodput", "forward_efficiency": "forward efficiency", "reverse_bandwidth": "return bandwidth"}
TABLE_6_1 = {
    "altitude": "altitude",
    "planes": "planes",
    "sats_per_plane": "satellites per plane",
    "inclination": "inclination",
    "interplane_separation": "plane separation",
    "seam_separation": "seam separation",
    "elevation_mask": "lowest elevation of a satellite in use",
    "max_isls": "most ISLs of a satellite",
}


def row_of(n: Number) -> tuple[str, str] | None:
    """Entry and metric of the row that compares a number; `None` if there is none."""
    found = ONE_BY_ONE.get((n.paper, n.item, n.metric))
    if found is None:
        find = TABLES.get((n.paper, n.item))
        found = find(n) if find else None
    return None if found is None else (f"{n.paper}/{found[0]}", found[1])


def table_4_1(n: Number) -> tuple[str, str]:
    what = {"utilisation": "utilisation", "fairness": "fairness"}.get(n.metric)
    return "table_4_1", f"{TABLE_4_1[n.series]}: {what or 'flow of ' + n.metric.removeprefix('goodput_').replace('ms', ' ms')}"


def table_4_2(n: Number) -> tuple[str, str]:
    orbit, mss, kind = n.series.split(",")
    where = f"{orbit.upper()}, {mss.removeprefix('mss=')} B, {KINDS[kind]}"
    if n.metric == "experiment_mean":
        return "table_4_2_experiments", f"{where}: mean"
    what = n.metric.removeprefix("analysis_")
    return "table_4_2", f"{where}: {'minimum' if what == 'min' else what}"


def table_5_1(n: Number) -> tuple[str, str]:
    way, stack = n.series.split(",")
    name = {"stp": "STP", "sack": "SACK", "reno": "Reno"}[stack]
    ways = {"oneway": "one way", "twoway": "both ways"}
    return n.item.replace("-", "_").replace(".", "_"), f"{ways[way]}, {name}: {COLUMNS[n.metric]}"


def table_5_3(n: Number) -> tuple[str, str]:
    name = {"tcp": "TCP", "ttcp": "T/TCP", "stp": "STP"}[n.series]
    return "table_5_3", f"{name}: {'packets' if n.metric == 'packets' else 'mean time'}"


def table_5_4(n: Number) -> tuple[str, str]:
    network, way = n.metric.split("_")
    name = {"directpc": "DirecPC", "ricochet": "Ricochet"}[network]
    return "table_5_4", f"{name}, {'STP' if n.series == 'stp' else 'TCP'}: {way}"


def levels(n: Number) -> tuple[str, str]:
    stack, ber, used = n.series.split(",")
    name = "sack1" if stack == "sack" else stack
    return "table_5_1", f"{name}, {float(ber.removeprefix('ber=')):.0e}, {used.removeprefix('utilisation=')}"


def simulations(n: Number) -> tuple[str, str] | None:
    kind, _, size, ber = n.series.split(",")
    return ("table_6_7", f"{float(ber.removeprefix('ber=')):.0e}, {size.removeprefix('packet=')} B") if kind == "simulation" else None


def kota(n: Number) -> tuple[str, str]:
    _, policy, flavor, buffer = n.series.split(",")
    return n.item.replace("-", "_"), f"{n.metric}: {policy}, {flavor}, {buffer}"


TABLES = {
    (HT, "table-4.1"): table_4_1,
    (HT, "table-4.2"): table_4_2,
    (HT, "table-5.1"): table_5_1,
    (HT, "table-5.2"): table_5_1,
    (HT, "table-5.3"): table_5_3,
    (HT, "table-5.4"): table_5_4,
    (HT, "table-6.1"): lambda n: ("fig_6_2", f"{n.series}, {TABLE_6_1[n.metric]}"),
    (TH, "table-5.1"): levels,
    **{(TH, f"table-6.{n}"): simulations for n in (7, 8, 9)},
    **{(KG, f"table-{n}"): kota for n in (5, 8, 11)},
}


def reason(n: Number) -> str | None:
    """The reason why no row compares a number."""
    for key, why in WITHOUT_ROW.items():
        if key[:2] == (n.paper, n.item) and n.series.startswith(key[2] if len(key) > 2 else ""):
            return why
    return None


Rows = dict[tuple[str, str], dict[str, str]]


def compare(numbers: list[Number], rows: Rows) -> tuple[list[list[str]], list[str]]:
    """Lines of the table, and what is wrong: numbers without row or reason, rows that compare another number."""
    lines, wrong = [], []
    for n in numbers:
        place, why = row_of(n), reason(n)
        said = [n.paper, n.item, n.series.replace("|", "/"), n.metric, f"{n.value:g} {n.unit}".strip()]
        if place is None:
            if why is None:
                wrong.append(f"{' '.join(said)}: no row, and no reason")
            lines.append([*said, "none", why or ""])
            continue
        row = rows.get(place)
        if row is None:
            wrong.append(f"{' '.join(said)}: no row {place[1]!r} of {place[0]}")
            continue
        if not row["published"] or abs(float(row["published"]) - n.value) > 1e-9 * abs(n.value) or row["of"] != "paper":
            wrong.append(f"{' '.join(said)}: the row {place[1]!r} of {place[0]} compares {row['published'] or 'nothing'}")
        lines.append([*said, f"{float(row['ours']):.4g}, {row['verdict']}", f"{place[0]}: {place[1]}"])
    return lines, wrong


def markdown(lines: list[list[str]]) -> str:
    compared = Counter(line[0] for line in lines if line[5] != "none")
    every = Counter(line[0] for line in lines)
    others = Counter(f"{line[0]}, {line[1]}: {line[6]}" for line in lines if line[5] == "none")
    counted = "; ".join(f"{paper} {compared[paper]} of {every[paper]}" for paper in every)
    text = [
        "# Number by number",
        "",
        "Written by `make papers`: each number that the publications print, and the row that compares it.",
        "",
        f"Compared: {counted}. The others:",
        "",
        *(f"- {count} of {what}." for what, count in others.items()),
        "",
        "| paper | item | series | metric | published | ours | row |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*text, *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, default=Path("out/papers/table.csv"), help="table of a full run of harness.py")
    parser.add_argument("--table", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    if not PUBLISHED.is_file():
        print(f"skipped: {PUBLISHED} is not there", file=sys.stderr)
        return 0
    with arguments.run.open(encoding="utf-8") as file:
        rows = {(row["entry"], row["metric"]): row for row in csv.DictReader(file)}
    lines, wrong = compare(published(), rows)
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    text = markdown(lines)
    print(text[: text.index("\n| paper")])
    if arguments.table and not wrong:
        arguments.table.write_text(text, encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
