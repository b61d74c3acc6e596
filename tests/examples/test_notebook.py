"""The notebook of examples/: its cells, executed in order, give the outputs that are kept in it."""

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

NOTEBOOK = ROOT / "examples" / "first_impact.ipynb"


def drawn():
    """Return the pictures of the present figures as Jupyter makes them, and close these."""
    pictures = []
    for number in plt.get_fignums():
        picture = BytesIO()
        plt.figure(number).savefig(picture, format="png", bbox_inches="tight")
        pictures.append(picture.getvalue())
    plt.close("all")
    return pictures


def test_each_cell_gives_the_output_that_is_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    notebook = json.loads(NOTEBOOK.read_text())
    names, texts = {"__name__": "__main__"}, []
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        exec(compile("".join(cell["source"]), f"cell {number + 1}", "exec"), names)
        kept = cell["outputs"]
        printed = [output["text"] for output in kept if output["output_type"] == "stream"]
        pictures = [b64decode(output["data"]["image/png"]) for output in kept if "data" in output]
        assert capsys.readouterr().out == "".join("".join(text) for text in printed)
        for picture, now in zip(pictures, drawn(), strict=True):
            assert len(picture) < 20_000
            was, found = imread(BytesIO(picture)), imread(BytesIO(now))
            assert was.shape == found.shape and np.abs(was - found).mean() < 0.02
        assert cell["execution_count"] == number + 1
        texts += printed
    assert [text[0].strip() for text in texts][-2:] == ["SUCCEEDED", "IMPACT_UNEXPECTED"]
