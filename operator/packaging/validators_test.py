"""The packages of krew and olm as the catalogs' own programs read them: validate-krew-manifest, krew and operator-verify of the
folder ESPALIER_PACKAGING_TOOLS (e2e/tools/build.sh packaging). ESPALIER_HELM is helm's folder (e2e/tools/build.sh helm)."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

from chart_bundle import write_bundle

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ["ESPALIER_PACKAGING_TOOLS"])
HELM = pathlib.Path(os.environ["ESPALIER_HELM"])
ARCHIVE = "kubectl-espalier-v0.1.0-linux-amd64.tar.gz"
SOURCE = """#include <iostream>
int main() { std::cout << "runs\\n"; }
"""


class ValidatorsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-validators-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.dist = self.folder / "dist"
        self.bundle = self.folder / "bundle"

    def run_program(self, *command, **options):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder, **options)

    def write_krew_package(self):
        """A package of a program that loads the C++ library, linked as the plugin is."""
        program = self.folder / "program"
        subprocess.run(["c++", "-x", "c++", "-", "-o", program, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib"], input=SOURCE,
                       text=True, check=True, timeout=50)
        done = self.run_program(
            sys.executable, REPOSITORY / "operator/packaging/krew", "--binary", program, "--uri",
            f"https://downloads.example.com/{ARCHIVE}", "--homepage", "https://git.example.com/espalier", "--output", self.dist)
        self.assertEqual(done.returncode, 0, done.stderr)

    def validate_manifest(self):
        return self.run_program(TOOLS / "validate-krew-manifest", "-skip-install", "-manifest", self.dist / "espalier.yaml")

    def install(self):
        environment = {**os.environ, "KREW_ROOT": str(self.folder / "root"), "KREW_NO_UPGRADE_CHECK": "1",
                       "KREW_OS": "linux", "KREW_ARCH": "amd64"}
        return self.run_program(TOOLS / "krew", "install", "--manifest", self.dist / "espalier.yaml", "--archive",
                                self.dist / ARCHIVE, env=environment, stdin=subprocess.DEVNULL)

    def change(self, path, old, new):
        text = path.read_text()
        self.assertEqual(len(re.findall(old, text, re.MULTILINE)), 1, f"{old} in {path}")
        path.write_text(re.sub(old, new, text, flags=re.MULTILINE))

    def test_krews_validator_accepts_the_manifest(self):
        self.write_krew_package()
        done = self.validate_manifest()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("structural validation OK", done.stderr)
        self.change(self.dist / "espalier.yaml", "^  shortDescription: .*$", "")
        done = self.validate_manifest()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("should have a short description", done.stderr)

    def test_krew_installs_the_archive(self):
        self.write_krew_package()
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program(self.folder / "root/bin/kubectl-espalier")
        self.assertEqual((done.returncode, done.stdout), (0, "runs\n"), done.stderr)
        self.assertEqual(len(list((self.folder / "root/store/espalier").glob("*/LICENSE"))), 1)

    def test_krew_refuses_another_archive(self):
        self.write_krew_package()
        self.change(self.dist / "espalier.yaml", 'sha256: "[0-9a-f]{64}"', f'sha256: "{"0" * 64}"')
        done = self.install()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("checksum", done.stderr)
        self.assertFalse((self.folder / "root/bin/kubectl-espalier").exists())

    def complaints(self):
        """Lines of operator-verify, which exits with 0 whatever it finds."""
        done = self.run_program(TOOLS / "operator-verify", "manifests", "--object_validate", self.bundle)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.splitlines()

    def test_olms_validators_accept_the_bundle(self):
        write_bundle(HELM, self.bundle)
        self.assertEqual(self.complaints(), [])

    def test_olms_validators_are_run(self):
        write_bundle(HELM, self.bundle)
        path = self.bundle / "manifests/espalier.clusterserviceversion.yaml"
        version = yaml.safe_load(path.read_text())
        version["spec"]["customresourcedefinitions"]["owned"][0]["kind"] = "Another"
        path.write_text(yaml.safe_dump(version))
        found = self.complaints()
        self.assertTrue(any("level=error" in line and "Another" in line for line in found), found)


if __name__ == "__main__":
    unittest.main()
