"""The notebooks of examples/: their cells, executed in order, give the outputs that are kept in them."""

from __future__ import annotations

import json
from base64 import b64decode
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.image import imread

from documentation import ROOT

pytestmark = pytest.mark.timeout(300)  # the first example compiles the kernels

NOTEBOOKS = {file.stem: file for file in sorted((ROOT / "examples").glob("*.ipynb"))}


def code_cells(name):
    """The code cells of a notebook with their sources."""
    cells = json.loads(NOTEBOOKS[name].read_text())["cells"]
    return [(cell, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]


def drawn():
    """Return the pictures of the present figures as Jupyter makes them, and close these."""
    pictures = []
    for number in plt.get_fignums():
        picture = BytesIO()
        plt.figure(number).savefig(picture, format="png", bbox_inches="tight")
        pictures.append(picture.getvalue())
    plt.close("all")
    return pictures


@pytest.fixture
def execute(monkeypatch, tmp_path, capsys):
    """Execute a notebook, comparing each output with the one that is kept; return what it printed, by cell."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plt.switch_backend("Agg")
    names = {"__name__": "__main__"}

    def execute(name):
        texts = []
        for number, (cell, source) in enumerate(code_cells(name), start=1):
            exec(compile(source, f"cell {number}", "exec"), names)
            kept = cell["outputs"]
            printed = ["".join(output["text"]) for output in kept if output["output_type"] == "stream"]
            pictures = [b64decode(output["data"]["image/png"]) for output in kept if "data" in output]
            assert capsys.readouterr().out == "".join(printed)
            for picture, now in zip(pictures, drawn(), strict=True):
                assert len(picture) < 20_000
                was, found = imread(BytesIO(picture)), imread(BytesIO(now))
                assert was.shape == found.shape and np.abs(was - found).mean() < 0.02
            assert cell["execution_count"] == number
            texts += printed
        return texts

    yield execute
    # Where a cell failed before those that end them.
    if "client" in names:
        names["client"].close()
    if "graph" in names:
        names["graph"].terminate()
        names["graph"].communicate(timeout=60.0)


def test_a_notebook_on_a_graph_is_short():
    assert NOTEBOOKS.keys() == {"first_impact", "running_graph"}
    assert sum(len(source.splitlines()) for _, source in code_cells("running_graph")) <= 40


def test_each_cell_gives_the_output_that_is_kept(execute):
    assert [text.splitlines()[0] for text in execute("first_impact")][-2:] == ["SUCCEEDED", "IMPACT_UNEXPECTED"]


@pytest.mark.wall_clock
def test_a_running_graph_gives_the_output_that_is_kept(execute):
    assert execute("running_graph")[2].splitlines()[:2] == ["SUCCEEDED in 2.5 s"] * 2
