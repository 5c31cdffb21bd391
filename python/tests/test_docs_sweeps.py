"""The user guide of sweeps: its scenario and its Python code, run unchanged.

Follows docs/sweeps.md, block after block, in an empty folder.
Differs from the examples of other documents, which are scenarios that crates/scenario checks.
Leaves out Dask, for which there is a test with a cluster, and the metric's 675 points, which have tests of their own.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "sweeps.md"


@pytest.mark.filterwarnings("default")
def test_the_guide_runs_as_written(tmp_path, monkeypatch, capsys):
    for library in ("pandas", "polars", "duckdb", "scipy"):
        pytest.importorskip(library)
    text = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    scenario = next(body for kind, body in blocks if kind == "toml" and body.startswith("# grid.toml"))
    Path("grid.toml").write_text(scenario, encoding="utf-8")
    python = [body for kind, body in blocks if kind == "python" and "Client(" not in body and "equivalence" not in body]
    assert len(python) >= 4
    # The first block reads the results of the command.
    import skyhop

    names: dict = {}
    assert len(skyhop.sweep("grid.toml")) == 45
    for body in python:
        exec(compile(body, "docs/sweeps.md", "exec"), names)
    plt.close("all")
    said = capsys.readouterr().out
    assert "95% of 15" in said and "28672.0" in said, said
    assert Path("grid.pdf").read_bytes().startswith(b"%PDF")
