"""The notebook of python/examples, executed as a reader would.

Follows nbclient: a kernel of its own, cell after cell, in an empty folder.
Differs from reading it: the cells' files and output are checked.
Leaves out the look of figures.
"""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "scenario-to-figure.ipynb"


@pytest.mark.filterwarnings("default")
def test_from_a_scenario_to_a_figure_in_ten_lines(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    python = [cell.source for cell in notebook.cells if cell.cell_type == "code" and not cell.source.startswith("%%writefile")]
    lines = [line for source in python for line in source.splitlines() if line.strip()]
    assert 5 <= len(lines) <= 10
    assert all(not cell.get("outputs") for cell in notebook.cells), "stored without outputs, so that none is out of date"
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    work = tmp_path / "work"
    work.mkdir()
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(work)}}).execute()
    for name in ("geo.pdf", "sequence.pdf"):
        assert (work / name).read_bytes().startswith(b"%PDF")
    assert (work / "geo-sweep" / "runs.parquet").is_file()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    texts = " ".join(str(output.get("data", {}).get("text/plain", "")) for output in outputs)
    # 20 pairs: four rates, five seeds.
    assert "links.satellite.rate_bps" in texts and "count=20" in texts
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 2
