#!/usr/bin/env python3
"""Lines of Rust, Python and TOML that are longer than 140 characters: prints file and line of each, and exits with 1.

Follows CONTRIBUTING.md. Differs from `rustfmt`, which holds code to 110 columns and leaves comments and texts as they are.
Leaves out Markdown, whose tables, addresses and printed lines are as long as they have to be.
"""

import subprocess
import sys
from pathlib import Path

WIDEST = 140


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    files = subprocess.check_output(["git", "ls-files", "*.rs", "*.py", "*.toml"], cwd=root, text=True).split()
    wide = [
        f"{file}:{number}: {len(line)} characters; expected at most {WIDEST}"
        for file in files
        if (root / file).is_file()
        for number, line in enumerate((root / file).read_text().splitlines(), 1)
        if len(line) > WIDEST
    ]
    print("\n".join(wide), end="\n" if wide else "")
    return 1 if wide else 0


if __name__ == "__main__":
    sys.exit(main())
