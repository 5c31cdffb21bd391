"""The documents as a site: Sphinx with MyST.

Follows docs/*.md as they are; index.md has their order. Sphinx and not mdBook, because the Python reference comes from docstrings.
Differs from the repository: links to files beside docs/ become their text, since the site holds the documents only.
Leaves out figures of publications that `make papers` has not drawn.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "out" / "papers"
sys.path.insert(0, str(ROOT / "python"))

project = "skyhop"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "skyhop"
html_extra_path = [str(FIGURES)] if FIGURES.exists() else []
exclude_patterns = ["site"]
myst_heading_anchors = 4
# The extension module and plotting are not needed for docstrings.
autodoc_mock_imports = ["skyhop._skyhop", "numpy", "matplotlib", "pandas", "pyarrow", "polars", "scipy", "distributed"]
autodoc_default_options = {"members": True, "undoc-members": False, "member-order": "bysource"}
autodoc_typehints = "none"
# Blocks of scenarios use languages and abbreviations that Pygments does not always accept.
suppress_warnings = ["misc.highlighting_failure"]


def gallery() -> str:
    """A table of the reproduced publications, with the figures that have been drawn."""
    lines: list[str] = []
    for folder in sorted(p for p in (ROOT / "papers").iterdir() if p.is_dir() and p.name != "__pycache__"):
        rows = []
        for script in sorted(folder.glob("*.py")):
            said = constants(script)
            if "CLAIM" not in said:
                continue
            figure = f"{folder.name}-{script.stem}.png"
            drawn = f'<a href="{figure}"><img src="{figure}" width="200"></a>' if (FIGURES / figure).exists() else ""
            rows.append(f"| `{folder.name}/{script.stem}` | {said.get('SOURCE', '')} | {said['CLAIM']} | {drawn} |")
        if rows:
            lines += [f"## {folder.name}", "", "| script | source | claim | figure |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def constants(script: Path) -> dict[str, str]:
    """The texts that a script assigns at its top level."""
    texts = {}
    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts[ast.unparse(node.targets[0])] = node.value.value
    return texts


def prepare(_app: object, name: str, source: list[str]) -> None:
    text = re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", source[0])
    source[0] = text.replace("<!-- gallery -->", gallery()) if name == "gallery" else text


def setup(app: object) -> None:
    app.connect("source-read", prepare)  # type: ignore[attr-defined]
