"""Tests the package's types with mypy: it infers the results of calls, and rejects wrong arguments."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import graphs

PROGRAM = pathlib.Path(__file__).parent / "scripts/typed_program.py"
WRONG = """\
import espalier as ep
import espalier.dgl as dgl
import espalier.nn

g = ep.DistGraph(partitions=7)
loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), [10, 25], batch_size=64)
count: str = g.num_nodes()
batch = next(iter(loader))
batch.input_node
g.to_global_ids("paper")
ep.sample_neighbors(g, [1.5], 5)
ep.DistEmbedding(g, None, 16, name="rows")
g.in_degrees([0], etype=3)
ep.checkpoint.save(g, ep.init_process_group(g), "uri", loader=batch)
ep.nn.GraphConv((16, 16), 8)
dgl.dataloading.DistNodeDataLoader(dgl.distributed.DistGraph("cora"), [1, 2], [10, 25])
"""
WRONG_WORDS = {5: '"DistGraph" has incompatible type "int"', 6: 'expected "NeighborSampler"',
               7: 'expression has type "int"', 9: 'maybe "input_nodes"', 10: 'has incompatible type "str"',
               11: 'List item 0 has incompatible type "float"', 12: 'expected "ProcessGroup"',
               13: 'expected "str | tuple[str, str, str] | None"', 14: 'expected "Stateful | None"',
               15: 'has incompatible type "tuple[int, int]"; expected "int"', 16: 'expected "SupportsSample"'}
# Reads espalier like an installed package, whose own sources are not checked, and skips torch, which alone takes a
# minute.
SETTINGS = """\
[mypy]
strict = true
[mypy-espalier.*]
ignore_errors = true
[mypy-torch.*]
follow_imports = skip
"""


class Types(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="espalier-types-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "mypy.ini").write_text(SETTINGS)

    def complaints(self, program):
        """Returns {line: message} of mypy's errors in a program."""
        done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", self.folder / "mypy.ini", "--cache-dir",
                               self.folder / "cache", "--no-error-summary", "--hide-error-context", program],
                              capture_output=True, text=True, timeout=300, cwd=graphs.SOURCE / "python")
        self.assertEqual(done.stderr, "")
        lines = [line.split(":", 2) for line in done.stdout.splitlines() if ": error: " in line]
        self.assertEqual(done.returncode, 1 if lines else 0, done.stdout)
        self.assertEqual({pathlib.Path(file) for file, _, _ in lines} - {pathlib.Path(program)}, set(), done.stdout)
        return {int(number): message for _, number, message in lines}

    def test_a_program_is_accepted(self):
        self.assertEqual(self.complaints(PROGRAM), {})

    def test_a_program_with_mistakes_is_refused(self):
        program = self.folder / "wrong.py"
        program.write_text(WRONG)
        found = self.complaints(program)
        self.assertEqual(found.keys(), WRONG_WORDS.keys(), found)
        for number, words in WRONG_WORDS.items():
            self.assertIn(words, found[number])


if __name__ == "__main__":
    unittest.main()
