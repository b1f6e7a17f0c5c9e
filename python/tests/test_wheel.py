"""Tests the wheels of python/wheel in a virtual environment without other packages: a program trains, and so does
Espalier's trainer, with the torch of that environment."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import venv

import graphs

BUILD = pathlib.Path(os.environ["ESPALIER_BIN"]).parent
SITE_PACKAGES = pathlib.Path(sysconfig.get_path("purelib"))


class Wheels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="espalier-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = subprocess.run([sys.executable, graphs.SOURCE / "python/wheel", "--build", BUILD, "--python", sys.executable,
                               "--output", cls.folder / "wheels"], capture_output=True, text=True)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        cls.printed = made.stdout
        cls.wheels = sorted((cls.folder / "wheels").iterdir())
        venv.create(cls.folder / "venv", symlinks=True)
        cls.python = cls.folder / "venv/bin/python"
        cls.site_packages = next((cls.folder / "venv/lib").glob("python*/site-packages"))
        # The packages that pip would download.
        for package in ("numpy", "numpy.libs", "nanobind_backend"):
            shutil.copytree(SITE_PACKAGES / package, cls.site_packages / package)
        cls.install(cls.wheels[0])

    @classmethod
    def install(cls, wheel):
        subprocess.run([sys.executable, "-m", "pip", "--python", cls.python, "install", "--quiet", "--no-index", "--no-deps",
                        wheel], check=True, stdout=subprocess.PIPE)

    def run_there(self, *command):
        # The environment variables do not lead to the build tree.
        environment = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, env=environment,
                              cwd=graphs.SOURCE)

    def test_names_have_the_platform(self):
        self.assertEqual(len(self.wheels), 2)
        self.assertRegex(self.wheels[0].name, r"^espalier-[0-9.]+-cp310-abi3-manylinux_2_\d+_x86_64.whl$")
        self.assertRegex(self.wheels[1].name, r"^espalier_trainer-[0-9.]+-py3-none-manylinux_2_\d+_x86_64.whl$")
        for wheel in self.wheels:
            self.assertRegex(self.printed, rf"{re.escape(wheel.name)}  \d+\.\d MB\n")
            self.assertLess(wheel.stat().st_size, 60e6)

    def test_libraries_are_those_of_the_wheel_and_of_the_system(self):
        """The libraries that ldd finds outside the environment belong to glibc, GCC and the kernel."""
        for name in ("espalier", "espalier-graph-server", "espalier-partitioner", "espalier-sampler"):
            program = self.site_packages / "espalier/bin" / name
            found = self.run_there("ldd", program).stdout
            self.assertNotIn("not found", found)
            outside = {pathlib.Path(path).name for path in re.findall(r"=> (\S+)", found)
                       if not os.path.realpath(path).startswith(os.path.realpath(self.site_packages))}
            self.assertLessEqual(outside, {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0",
                                           "libdl.so.2", "librt.so.1", "libresolv.so.2", "libz.so.1"}, outside)

    def test_it_has_type_information(self):
        installed, sources = self.site_packages / "espalier", graphs.SOURCE / "python/espalier"
        for name in ("py.typed", "_core.pyi"):
            self.assertEqual((installed / name).read_text(), (sources / name).read_text())

    def test_a_program_trains(self):
        document = self.folder / "job.json"
        document.write_text(json.dumps({
            "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "cora"},
            "spec": {"graph": {"source": {"uri": str(graphs.CORA), "format": "OGB"}, "partitions": {"count": 2}},
                     "trainers": {"replicas": 2}}}))
        output = self.folder / "out"
        run = self.run_there(self.python.with_name("espalier"), "run", "-f", document, "--output", output, "--quiet", "--",
                             self.python, graphs.SOURCE / "python/examples/simple_graph_convolution.py")
        log = (output / "logs/trainer-0.log").read_text()
        self.assertEqual(run.returncode, 0, run.stderr + log)
        self.assertGreaterEqual(float(re.search(r"test accuracy: (\S+)", log)[1]), 0.78)

    def test_the_trainer_is_a_wheel_of_its_own(self):
        command = [self.python, "-m", "espalier", "run", "-f", "services/examples/cora.yaml", "--set", "training.epochs=3",
                   "--output"]
        refused = self.run_there(*command, self.folder / "refused")
        self.assertEqual(refused.returncode, 64, refused.stderr)
        self.assertIn("the wheel espalier-trainer", refused.stderr)
        torch = pathlib.Path(os.environ["ESPALIER_TORCH"])  # its libraries, laid out as pip lays them out
        (self.site_packages / "torch").symlink_to(torch / "torch")
        (self.site_packages / "nvidia").symlink_to(torch / "nvidia")
        self.install(self.wheels[1])
        trained = self.run_there(*command, self.folder / "trained")
        self.assertEqual(trained.returncode, 0, trained.stderr)
        self.assertGreater(json.loads((self.folder / "trained/result.json").read_text())["testAccuracy"], 0.5)


if __name__ == "__main__":
    unittest.main()
