#!/usr/bin/env python3
"""Links of the documents: each page of docs/ is in the site's order once and opens with its readers; the built site has no dead link.

Follows docs/index.md. Leaves out links to other sites. Without an argument only the documents are read; with a folder, also the HTML in it.

    tools/site_links.py [out/site]
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: The beginning of a page's second paragraph, which names its readers.
READERS = re.compile(r"^(For|You need this page) ")


class Page(HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "id" and value:
                self.anchors.add(value)
            if key in ("href", "src") and value and not urlsplit(value).scheme:
                self.targets.append(value)


def documents() -> list[str]:
    """Errors in the documents."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^([a-z-]+)$", "\n".join(re.findall(r"```{toctree}(.*?)```", index, re.S)), re.M)
    there = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    wrong = [f"docs/index.md: {name} is listed twice" for name in sorted(set(listed)) if listed.count(name) > 1]
    wrong += [f"docs/index.md: {name} is not listed" for name in sorted(there - set(listed))]
    wrong += [f"docs/index.md: {name} does not exist" for name in sorted(set(listed) - there)]
    for name in sorted(there):
        paragraphs = (DOCS / f"{name}.md").read_text(encoding="utf-8").split("\n\n", 2)
        if not READERS.match(paragraphs[1]):
            wrong.append(f"docs/{name}.md: the first paragraph does not begin with its readers (For ...)")
    return wrong


def site(folder: Path) -> list[str]:
    """Dead links of a built site."""
    pages = {path.resolve(): Page(path) for path in folder.glob("**/*.html")}
    wrong = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not there.exists():
                wrong.append(f"{path.name}: {target} does not exist")
            elif anchor and there in pages and anchor not in pages[there].anchors:
                wrong.append(f"{path.name}: {target}: no such heading")
    return wrong


def main() -> int:
    wrong = documents()
    for folder in sys.argv[1:]:
        wrong += site(Path(folder))
    print("\n".join(wrong) or "every page is listed, every link leads somewhere")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
