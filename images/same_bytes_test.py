"""The same graphs and partitions on both processors: the command line that images/cross has compiled for arm64 runs under QEMU, and
writes the same bytes as this machine's. Skipped where images/cross has not run, or QEMU is not installed."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from arm64_programs import CROSS, HERE, needs, under_qemu

PROGRAM = CROSS / "release/bin/espalier"
GRAPHS = {
    "weighted": ["--nodes", "3000", "--edges", "30000", "--features", "16", "--classes", "4", "--edge-weights", "--seed", "7"],
    "typed": ["--typed", "--nodes", "2000", "--classes", "4", "--seed", "3"],
}
ALGORITHMS = ("METIS", "Multilevel", "Random", "Streaming")


# In manifests: the number that is new for each attempt of a partitioner, and what the attempt took.
VARIES = re.compile(rb'(?<=attempt-)[0-9a-f]+|(?<="partition_seconds": )[^,}\s]+|(?<="peak_memory_bytes": )[^,}\s]+')


def contents(folder):
    """{path: bytes} of the files, without what differs between two runs on one machine."""
    return {VARIES.sub(b"", str(path.relative_to(folder)).encode()): VARIES.sub(b"", path.read_bytes())
            for path in folder.rglob("*") if path.is_file()}


@needs(PROGRAM, HERE / "espalier")
class SameBytesTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-bytes-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def espalier(self, processor, *words):
        """Runs the command line in the processor's folder."""
        folder = self.folder / processor
        folder.mkdir(exist_ok=True)
        program = [HERE / "espalier"] if processor == "here" else under_qemu(CROSS / "sysroot", PROGRAM)
        done = subprocess.run([*program, *words], cwd=folder, capture_output=True, text=True, timeout=500, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def expect_same_files(self, name):
        here, there = (contents(self.folder / processor / name) for processor in ("here", "arm64"))
        self.assertEqual(here.keys(), there.keys())
        self.assertGreater(len(here), 5)
        self.assertEqual([path for path in here if here[path] != there[path]], [])

    def test_graphs_and_partitions(self):
        for name, words in GRAPHS.items():
            for processor in ("here", "arm64"):
                self.espalier(processor, "generate", *words, "--quiet", "--output", name)
            self.expect_same_files(name)
        for algorithm in ALGORITHMS:
            for processor in ("here", "arm64"):
                self.espalier(processor, "partition", "weighted", "--format", "NPY", "--count", "3", "--algorithm", algorithm,
                              "--output", algorithm)
            self.expect_same_files(algorithm)


if __name__ == "__main__":
    unittest.main()
