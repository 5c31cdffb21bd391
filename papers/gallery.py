"""Gallery of the publications as a page of the documents: each figure beside the published claim, its verdicts and its command.

Follows a run of all entries by `papers/harness.py --gallery docs/papers.md`, which draws the small pictures beside the page too.
Differs from the harness's table: a line for each entry, and the rows that are known to differ with their reasons.
Leaves out rows that hold; the table of `make papers` has them with the reasons of their bounds.
"""

from __future__ import annotations

from pathlib import Path

from rows import KINDS, Done, Row, counts

HEAD = """# Publications, figure by figure

For readers of the papers who want to see each figure reproduced, with its verdicts. `make papers-gallery` writes this page; each
entry is a script in [papers/](../papers), followed by its command. [papers/compared.md](../papers/compared.md) lists the numbers one
by one, [papers/mutations.md](../papers/mutations.md) the wrong implementations that the verdicts detect.
"""
#: Numbers and figures without a row, and the reason, by publication.
NOT_COMPARED = {
    "Henderson 1999": {
        "figure 1.2": "satellites that were in geostationary orbit in 1999, drawn from a manufacturer's list; no elements, no number",
        "figures 5.1, 5.4 to 5.6 and 5.9": "packet formats, states, and topologies, which are the scenarios of tables 5.1 and 5.2",
        "figure 6.13": "two routes of a drawing, whose places and instant are not given; figure 6.11 has what such routes cost",
        "95 % intervals of tables 5.1 and 5.2": "the spread of the thesis's web generator, which is not ours",
    },
    "Henderson and Katz 1999": {"table I and figures": "the same numbers as in the thesis"},
    "Wood 2001": {
        "figures 3ii, 4 and 5": "curves without numbers: words only",
    },
    "Thompson 2004": {
        "table 5.1: columns D, M, A one by one": "as a sum, a largest and a mean over stacks and utilisations",
        "tables 6.2 and 6.3": "hardware, and lists of what stacks of the time implement",
        "tables 6.4 to 6.6 and the emulated values of 6.7 to 6.9": (
            "a Linux kernel of its time over an emulated link; `make compare` has one of today"
        ),
    },
    "Kota 1999": {
        "table 4": "factors and levels, which tables 5, 8 and 11 have",
    },
}


def markdown(done: Done, pictures: Path, page: Path) -> str:
    """The page; `pictures` is the folder of the small figures."""
    lines = [HEAD, *(f"- {line}" for line in counts(done)), ""]
    folder = None
    for name, module, result in done:
        if (here := name.split("/")[0]) != folder:
            folder = here
            lines += [f"## {folder}", ""]
        lines += [f"### {module.SOURCE}", "", f"{module.CLAIM}.", ""]
        picture = pictures / (name.replace("/", "-") + ".png")
        # An entry that is kept has the picture of its last run.
        if picture.is_file():
            lines += [f"![{module.SOURCE}]({picture.relative_to(page.parent)})", ""]
        lines += [f"{verdicts(result.rows)} `python papers/harness.py {name}`", ""]
        known = [f"- {row.metric}: {number(row)}ours {row.ours:.4g} {row.unit}. {row.known}." for row in result.rows if row.known]
        lines += [*known, ""] if known else []
    lines += ["## Not compared", ""]
    for publication, items in NOT_COMPARED.items():
        lines += [f"- {publication}, {what}: {why}." for what, why in items.items()]
    return "\n".join(lines) + "\n"


def number(row: Row) -> str:
    return "" if row.published is None else f"published {row.published:.4g}, "


def verdicts(rows: list[Row]) -> str:
    """Number of rows of each kind that hold, such as "Printed numbers: 4 of 5 hold."."""
    names = {"published": "Printed numbers", "other": "Numbers of other origin", "in words": "Claims in words"}
    told = []
    for kind in KINDS:
        of = [row.holds for row in rows if row.kind == kind]
        if of:
            told.append(f"{names[kind]}: {sum(of)} of {len(of)} hold.")
    return " ".join(told)
