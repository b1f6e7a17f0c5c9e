"""Tests that draws are the same on every processor, as docs/sampling.md promises. Compiles same_draws.cc and the
kernels of services/sampler/draws with and without AVX2, and for arm64 if a cross compiler and QEMU are installed.
Compares the output with same_draws.txt."""

import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ["ESPALIER_SOURCE"])
FILES = ["services/tests/same_draws.cc",
         *(f"services/sampler/draws/{name}_draws.cc" for name in ("labor", "neighbor", "weighted")),
         "services/sampler/draws/draw_words.cc", "services/kernels/dropout_half_words.cc",
         *(f"services/base/{name}.cc" for name in ("check", "dtype", "random_access_memory", "status", "tensor"))]
# The options of the release build for kernels (services/cmake).
FLAGS = ["-std=c++20", "-O3", "-ffp-contract=off", "-pthread", "-static", f"-I{SOURCE}"]
ARM_FLAGS = ["-fno-tree-slp-vectorize"]
ARM_COMPILER = "aarch64-linux-gnu-g++"
QEMUS = ("qemu-aarch64-static", "qemu-aarch64")


class SameDrawsTest(unittest.TestCase):
    def expect_same_draws(self, compiler, *flags, runner=()):
        with tempfile.TemporaryDirectory(prefix="espalier-draws-") as folder:
            program = pathlib.Path(folder) / "same_draws"
            subprocess.run([compiler, *FLAGS, *flags, *(SOURCE / file for file in FILES), "-o", program], check=True)
            done = subprocess.run([*runner, program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, (HERE / "same_draws.txt").read_text())

    @unittest.skipUnless(platform.machine() == "x86_64", "not an x86-64 machine")
    def test_with_avx2(self):
        self.expect_same_draws(os.environ.get("ESPALIER_CXX", "c++"), "-march=x86-64-v3")

    def test_without_vector_code(self):
        self.expect_same_draws(os.environ.get("ESPALIER_CXX", "c++"))

    @unittest.skipUnless(shutil.which(ARM_COMPILER) and any(map(shutil.which, QEMUS)),
                         f"{ARM_COMPILER} and qemu-user are not installed")
    def test_on_arm64(self):
        self.expect_same_draws(ARM_COMPILER, *ARM_FLAGS, runner=[next(filter(None, map(shutil.which, QEMUS)))])


if __name__ == "__main__":
    unittest.main()
