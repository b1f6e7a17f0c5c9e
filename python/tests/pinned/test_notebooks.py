"""Runs the notebooks of docs/notebooks and compares texts and pictures with those stored in them. With
ESPALIER_UPDATE_DOCS in the environment, stores the new ones."""

import os
import re
import tempfile
import unittest
import unittest.mock

import jupyter_client.manager
import nbclient
import nbformat

import graphs

NOTEBOOKS = sorted((graphs.SOURCE / "docs/notebooks").glob("*.ipynb"))
DECIMALS = re.compile(r"-?\d+\.\d+")


def run(path):
    """Executes the notebook's code in the folder of the notebook, and returns the notebook."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="espalier-notebook-") as folder, \
            unittest.mock.patch.dict(os.environ, MPLBACKEND="module://matplotlib_inline.backend_inline", TMPDIR=folder):
        # Uses Unix sockets, which other users cannot access.
        manager = jupyter_client.manager.AsyncKernelManager(kernel_name="python3", transport="ipc",
                                                            ip=os.path.join(folder, "kernel"))
        nbclient.NotebookClient(notebook, km=manager, timeout=300, record_timing=False,
                                resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("text/html", None)  # tables, which are also in "text/plain"
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def texts(cell):
    return "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def pictures(cell):
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


class Notebooks(unittest.TestCase):
    maxDiff = None

    def test_notebooks_reproduce_their_outputs(self):
        self.assertGreater(len(NOTEBOOKS), 0)
        for path in NOTEBOOKS:
            with self.subTest(path.name):
                found = run(path)
                if os.environ.get("ESPALIER_UPDATE_DOCS"):
                    nbformat.write(found, path)
                self.check(nbformat.read(path, as_version=4), found)

    def check(self, kept, found):
        self.assertGreater(sum(pictures(cell) for cell in kept.cells if cell.cell_type == "code"), 0)
        for wanted, cell in zip(kept.cells, found.cells, strict=True):
            if cell.cell_type != "code":
                continue
            # Decimals depend on products of matrices, which may differ between processors.
            self.assertEqual(DECIMALS.sub("#", texts(cell)), DECIMALS.sub("#", texts(wanted)), cell.source)
            for one, other in zip(DECIMALS.findall(texts(cell)), DECIMALS.findall(texts(wanted)), strict=True):
                self.assertAlmostEqual(float(one), float(other), delta=0.03, msg=cell.source)
            self.assertEqual(pictures(cell), pictures(wanted), cell.source)
            self.assertEqual([output for output in cell.outputs if output.get("name") == "stderr"], [])

    def test_notebooks_are_small(self):
        for path in NOTEBOOKS:
            self.assertLess(path.stat().st_size, 250_000, path.name)


if __name__ == "__main__":
    unittest.main()
