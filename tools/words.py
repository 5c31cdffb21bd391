#!/usr/bin/env python3
"""Counts of wording: comments that begin with What, Whether, Whoever or Nobody, type names defined more than once, words of README.md.

Follows CONTRIBUTING.md. Prints each count beside its limit, and exits with 1 if one is above it. `--list` prints the places as well;
`--draw 200 --seed 22` prints so many doc comments, and `--draw-paragraphs 60 --seed 22` so many paragraphs of documents, at random.
Differs from a checker of grammar: the four words are counted because a noun that names the thing is clearer.
Leaves out comments inside a line of code, and types within functions and tests.
"""

import argparse
import random
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGINS = re.compile(r"(?:What|Whether|Whoever|Nobody)\b")
TYPE = re.compile(r"(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union|type) (\w+)")
LIMITS = {"comments": 30, "types": 40, "README": 1300}


def tracked(*patterns: str) -> list[Path]:
    names = subprocess.check_output(["git", "ls-files", *patterns], cwd=ROOT, text=True).split()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def comments(file: Path) -> list[tuple[int, str, str]]:
    """Line, kind and text of each comment: consecutive lines of one kind, or a docstring of Python."""
    found: list[tuple[int, str, str]] = []
    rust = file.suffix == ".rs"
    marks = r"\s*(///|//!|//)(?:\s|$)(.*)" if rust else r"\s*(#)\s(.*)"
    last: tuple[str, int] = ("", 0)
    doc = 0
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if not rust and file.suffix == ".py" and (opened := re.match(r'\s*[rf]?"""(.*)', line)) and not doc:
            found.append((number, '"""', opened[1]))
            doc = 0 if '"""' in opened[1] else number
        elif doc:
            found[-1] = (found[-1][0], '"""', found[-1][2] + "\n" + line.strip())
            doc = 0 if '"""' in line else doc
        elif matched := re.match(marks, line):
            if last == (matched[1], number - 1):
                found[-1] = (found[-1][0], matched[1], found[-1][2] + "\n" + matched[2])
            else:
                found.append((number, matched[1], matched[2]))
            last = (matched[1], number)
    return found


def types() -> dict[str, list[str]]:
    """Places of each type that a module of a crate defines, by name."""
    places = defaultdict(list)
    for file in tracked("crates/*/src/*.rs"):
        text = file.read_text().split("#[cfg(test)]\nmod ")[0]
        for number, line in enumerate(text.splitlines(), 1):
            if matched := TYPE.match(line):
                places[matched[1]].append(f"{file.relative_to(ROOT)}:{number}")
    return places


def paragraphs() -> list[tuple[str, str]]:
    """Paragraphs of documents with their places: no headings, tables, lists of links or blocks of code."""
    found = []
    for file in tracked("docs/*.md", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), file.read_text(), flags=re.S | re.M)
        line = 1
        for block in text.split("\n\n"):
            first = block.strip()
            if first and not re.match(r"[#|<!\[]", first):
                found.append((f"{file.relative_to(ROOT)}:{line + len(block) - len(block.lstrip())}", first))
            line += block.count("\n") + 2
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--draw-paragraphs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    said = [(file.relative_to(ROOT), *one) for file in tracked("*.rs", "*.py", "*.toml") for one in comments(file)]
    documented = [one for one in said if one[2] in ("///", "//!", '"""')]
    if options.draw or options.draw_paragraphs:
        chance = random.Random(options.seed)
        for file, line, _, text in chance.sample(documented, min(options.draw, len(documented))):
            print(f"{file}:{line}: " + text.replace("\n", "\n    "))
        pool = paragraphs()
        for place, text in chance.sample(pool, min(options.draw_paragraphs, len(pool))):
            print(f"{place}: " + text.replace("\n", "\n    "))
        return 0

    riddles = [one for one in said if BEGINS.match(one[3])]
    twice = {name: places for name, places in types().items() if len(places) > 1}
    words = len((ROOT / "README.md").read_text().split())
    if options.list:
        for file, line, kind, text in riddles:
            print(f"{file}:{line}: {kind} {text.splitlines()[0]}")
        for name, places in sorted(twice.items()):
            print(f"{name}: {', '.join(places)}")
    print(f"comments that begin with What, Whether, Whoever, Nobody: {len(riddles)} of {len(said)}, at most {LIMITS['comments']};", end=" ")
    print(f"doc comments among them: {sum(one in documented for one in riddles)} of {len(documented)}")
    print(f"type names defined more than once: {len(twice)} of {len(types())}, at most {LIMITS['types']}")
    print(f"words of README.md: {words}, at most {LIMITS['README']}")
    return int(len(riddles) > LIMITS["comments"] or len(twice) > LIMITS["types"] or words > LIMITS["README"])


if __name__ == "__main__":
    sys.exit(main())
