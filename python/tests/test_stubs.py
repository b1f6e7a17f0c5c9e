"""espalier/_core.pyi is the stub that nanobind generates for the built extension module, and the package exports all
public names."""

import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import graphs

import espalier as ep

STUB = graphs.SOURCE / "python/espalier/_core.pyi"


def made_stub():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "_core.pyi"
        made = subprocess.run([sys.executable, "-m", "nanobind.stubgen", "--quiet", "--module", "espalier._core",
                               "--output-file", file], capture_output=True, text=True)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        return file.read_text()


class Stubs(unittest.TestCase):
    maxDiff = None

    def test_the_stub_matches_the_module(self):
        made = made_stub()
        self.assertIn("\nclass DistGraph:\n", made)
        if os.environ.get("ESPALIER_UPDATE_DOCS"):
            STUB.write_text(made)
        self.assertMultiLineEqual(STUB.read_text(), made, "run this test with ESPALIER_UPDATE_DOCS=1 and commit _core.pyi")

    def test_every_public_name_is_exported(self):
        """Type checkers treat names that a package imports as private unless the package exports them."""
        exported = {name for name in ep.__all__ if not isinstance(getattr(ep, name), types.ModuleType)}
        public = {name for name, value in vars(ep).items()
                  if not name.startswith("_") and not isinstance(value, types.ModuleType)}
        self.assertEqual(exported - {"__version__"}, public)


if __name__ == "__main__":
    unittest.main()
