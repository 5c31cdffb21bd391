#!/usr/bin/env python3
"""Cycles between files: chains of `use crate::` between the files of a crate that return to their start.

Follows no rule of Rust, which allows cycles: the aim is that a file can be read without the files that use it. Exits with 1 if
there are more than are known. With names of crates as arguments, prints their known cycles too.
Differs from a checker of modules: a name re-exported by a crate's lib.rs counts for its original file.
Leaves out paths without `use`, `super` in tests' modules, and modules within a file.
"""

import re
import sys
from pathlib import Path

# Number of files in known cycles, by crate. A change that opens a cycle lowers the number; exceeding it is an error.
KNOWN: dict[str, int] = {}


def leaves(text: str) -> list[str]:
    """Every path of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`."""
    text = text.strip()
    brace = text.find("{")
    if brace < 0:
        return [re.split(r"\s+as\s+", part.strip())[0] for part in text.split(",") if part.strip()]
    found, depth, start = [], 0, brace + 1
    prefix = text[:brace]
    for i in range(brace, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
        if (text[i] == "," and depth == 1) or (text[i] == "}" and depth == 0):
            found += [prefix + leaf for leaf in leaves(text[start:i])]
            start = i + 1
            if depth == 0:
                break
    return found


def module(file: Path, source: Path) -> tuple[str, ...]:
    """The module path of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`, lib.rs and main.rs the root."""
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def code(text: str) -> str:
    """The text without comments and tests, which may use any file."""
    text = re.sub(r"//[^\n]*", "", text)
    at = text.find("#[cfg(test)]\nmod ")
    return text if at < 0 else text[:at]


def uses(text: str, own: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The paths, from the crate's root, that follow `crate::` or `super::` in a file's `use`."""
    found = []
    for statement in re.findall(r"\buse\s+((?:crate|super|self)\b[^;]*);", text):
        for leaf in leaves(statement):
            parts = [part.strip() for part in leaf.split("::")]
            base: list[str] = []
            if parts[0] == "crate":
                parts = parts[1:]
            elif parts[0] == "self":
                base, parts = list(own), parts[1:]
            else:
                base = list(own)
                while parts and parts[0] == "super":
                    base, parts = base[:-1], parts[1:]
            found.append(tuple(base + parts))
    # Paths in the text, such as `crate::mtu::narrow(...)`.
    for path in re.findall(r"(?<!use )\bcrate::((?:\w+::)*\w+)", re.sub(r"\buse\s[^;]*;", "", text)):
        found.append(tuple(path.split("::")))
    return found


def graph(source: Path) -> dict[str, set[str]]:
    """By file, the files that it uses."""
    files = {module(file, source): file for file in sorted(source.rglob("*.rs"))}
    texts = {own: code(file.read_text()) for own, file in files.items()}

    def owner(path: tuple[str, ...], seen: frozenset = frozenset()) -> tuple[str, ...] | None:
        """The file to which a path leads, through re-exports of other files."""
        own = path
        while own not in files:
            own = own[:-1]
        rest = path[len(own) :]
        if rest and (own, rest[0]) not in seen:
            for statement in re.findall(r"\bpub(?:\([^)]*\))?\s+use\s+([^;]*);", texts[own]):
                for leaf in leaves(statement):
                    parts = [part.strip() for part in leaf.split("::")]
                    if parts[-1] == rest[0] and parts[0] in ("crate", "self", "super") or (
                        parts[-1] == rest[0] and (*own, parts[0]) in files
                    ):
                        base = () if parts[0] == "crate" else own
                        parts = [part for part in parts if part not in ("crate", "self", "super")]
                        return owner((*base, *parts), seen | {(own, rest[0])})
        return own

    name = {own: str(file.relative_to(source)) for own, file in files.items()}
    found: dict[str, set[str]] = {}
    for own, text in texts.items():
        targets = {owner(path) for path in uses(text, own)}
        found[name[own]] = {name[target] for target in targets if target is not None and target != own}
    return found


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Sets of files that all reach each other, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(file: str) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in sorted(edges[file]):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            circle = []
            while True:
                circle.append(stack.pop())
                if circle[-1] == file:
                    break
            if len(circle) > 1:
                found.append(sorted(circle))

    for file in edges:
        if file not in index:
            visit(file)
    return found


def main() -> int:
    crates = Path(__file__).resolve().parent.parent / "crates"
    wanted = sys.argv[1:] or sorted(path.name for path in crates.iterdir() if (path / "src").is_dir())
    bad = False
    for crate in wanted:
        edges = graph(crates / crate / "src")
        found = circles(edges)
        files, known = sum(map(len, found)), KNOWN.get(crate, 0)
        if files == known and not sys.argv[1:]:
            continue
        bad |= files > known
        if files < known:
            print(f"{crate}: {files} files in circles, and KNOWN in tools/circles.py has {known}")
        for circle in found:
            print(f"{crate}: {len(circle)} files: {' '.join(circle)}")
            for file in circle:
                print(f"    {file} -> {' '.join(sorted(edges[file] & set(circle)))}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
