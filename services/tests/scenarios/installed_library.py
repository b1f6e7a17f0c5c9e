"""Builds and runs a user's project with an installed Espalier, while neither this source tree nor its build can be
read."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import BIN, CORA, SOURCE, Scenario, espalier

BUILD = BIN.parent
TORCH = pathlib.Path(os.environ["ESPALIER_TORCH_FOLDER"])
EPOCHS = 3
ASK_MODULE = """
import ctypes, sys
module = ctypes.CDLL(sys.argv[1])
module.SumRows.restype = ctypes.c_float
print(module.GraphSize(), module.SumRows((ctypes.c_float * 3)(1, 2, 3), 3))
"""
# $1: the mount point for torch, which may be in the hidden build folder; the other arguments are the command.
WITHOUT_SOURCE = f'mkdir -p "$1" && mount --bind "{TORCH}" "$1" && mount -t tmpfs none "{SOURCE}" && shift && exec "$@"'
NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]
# No public header may include headers of gRPC or protobuf.
NOT_PUBLIC = re.compile(r'#include [<"](grpc|google/|.*\.pb\.h)')


def has_namespaces():
    return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0


def checked(*command, **kwargs):
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900,
                             stdin=subprocess.DEVNULL, check=False, **kwargs)
    if process.returncode != 0:
        raise AssertionError(f"{command}: {process.returncode}\n{process.stdout}{process.stderr}")
    return process.stdout


@unittest.skipUnless(has_namespaces(), "cannot hide the source tree here")
class InstalledLibrary(Scenario):
    @classmethod
    def setUpClass(cls):
        """Installs once for all tests. No test writes to the installation."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-installed-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        installed = folder / "installed"
        checked("cmake", "--install", BUILD, "--prefix", installed)
        cls.prefix = installed.rename(folder / "moved")

    def setUp(self):
        super().setUp()
        self.project = pathlib.Path(shutil.copytree(SOURCE / "services/examples", self.dir / "project")) / "own_project"
        self.built = self.dir / "build"

    def without_source(self, *command, **kwargs):
        """Runs a command for which the source tree is an empty folder."""
        return checked(*NAMESPACE, "sh", "-euc", WITHOUT_SOURCE, "sh", self.dir / "torch", *command, cwd=self.dir, **kwargs)

    def partition(self, source, file_format, name, *flags):
        process = espalier("partition", source, "--format", file_format, "--count", 2, "--output", self.dir / name, *flags)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return next((self.dir / name).glob("*/manifest.json")).parent

    def alone(self, program, partitions, *args):
        """Returns the output of the program in one process over these partitions."""
        run = checked if pathlib.Path(program).parent == BIN else self.without_source
        environment = {**os.environ, "ESPALIER_PARTITIONS": str(partitions)}
        return json.loads(run(program, *args, env=environment).splitlines()[-1])

    def test_a_project_is_built_and_learns(self):
        self.assertEqual(self.without_source("ls", SOURCE), "")
        self.without_source("cmake", "-S", self.project, "-B", self.built, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                            f"-DESPALIER_TORCH={self.dir / 'torch'}")
        self.without_source("cmake", "--build", self.built, "-j2")

        graph = self.generate("--nodes", 3000, "--edges", 30000, "--features", 16, "--classes", 10, "--train", 0.5)
        partitions = self.partition(graph, "NPY", "parts")
        learned = self.alone(self.built / "training-loop", partitions, EPOCHS)
        self.assertEqual(learned, self.alone(BIN / "espalier_example_training_loop", partitions, EPOCHS))
        answers = self.without_source("python3", "-c", ASK_MODULE, self.built / "libgraph-size.so",
                                      env={**os.environ, "ESPALIER_PARTITIONS": str(partitions)})
        self.assertEqual(answers.split(), ["3000", "6.0"])

        cora = self.partition(CORA, "OGB", "cora")
        self.assertGreater(self.alone(self.built / "graph-sage", cora, "public", 20, 0.01)["testAccuracy"], 0.7)

    def test_headers_are_the_public_ones_and_stand_alone(self):
        headers = sorted((self.prefix / "include").rglob("*.h"))
        self.assertIn(self.prefix / "include/espalier/client/dist_graph.h", headers)
        self.assertNotIn(self.prefix / "include/espalier/client/session/session.h", headers)
        for header in headers:
            self.assertNotRegex(header.read_text(), NOT_PUBLIC, header)
        without_torch = [header for header in headers if "trainer" not in header.parts]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(lambda header: self.without_source("c++", "-std=c++20", "-fsyntax-only", "-x", "c++",
                                                                f"-I{self.prefix / 'include'}", header), without_torch))

    def test_the_package_names_missing_dependencies(self):
        process = subprocess.run(["cmake", "-S", str(self.project), "-B", str(self.built),
                                  f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True, check=False)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("ESPALIER_TORCH", process.stderr)


if __name__ == "__main__":
    unittest.main()
