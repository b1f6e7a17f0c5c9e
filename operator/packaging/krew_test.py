"""operator/packaging/krew: the manifest's required fields, and an archive that it fits. krew itself does not run here. A program of this
machine stands in for the plugin."""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(Espalier VERSION ([0-9.]+)", (REPOSITORY / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
NAME = f"kubectl-espalier-v{VERSION}-linux-amd64.tar.gz"
URI = f"https://downloads.example.com/{NAME}"
PROGRAM = pathlib.Path(shutil.which("true")).resolve()  # needs libc alone
WITH_LIBRARIES = pathlib.Path(shutil.which("bash")).resolve()


class KrewTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-krew-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def krew(self, binary=PROGRAM, uri=URI, output="dist", status=0, **options):
        done = subprocess.run(
            [sys.executable, REPOSITORY / "operator/packaging/krew", "--binary", binary, "--uri", uri, "--homepage",
             "https://git.example.com/espalier", "--output", self.folder / output],
            capture_output=True, text=True, timeout=60, check=False, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else (self.folder / output / "espalier.yaml").read_text()

    def test_the_manifest_has_what_krew_requires(self):
        manifest = self.krew()
        data = (self.folder / "dist" / NAME).read_bytes()
        for line in ("apiVersion: krew.googlecontainertools.github.com/v1alpha2", "kind: Plugin", "  name: espalier",
                     f'  version: "v{VERSION}"', '  homepage: "https://git.example.com/espalier"',
                     "        os: linux", "        arch: amd64", f'    uri: "{URI}"',
                     f"    sha256: {hashlib.sha256(data).hexdigest()}", "    bin: kubectl-espalier"):
            self.assertIn(line, manifest.splitlines())
        [short] = re.findall(r"^  shortDescription: (.+)$", manifest, re.MULTILINE)
        self.assertLessEqual(len(short), 50)
        self.assertFalse(short.endswith("."))

    def test_the_archive_has_program_and_license(self):
        self.krew()
        with tarfile.open(self.folder / "dist" / NAME) as tar:
            members = {member.name: member for member in tar}
            self.assertEqual(sorted(members), ["LICENSE", "kubectl-espalier"])
            self.assertEqual(members["kubectl-espalier"].mode, 0o755)
            self.assertEqual(tar.extractfile("kubectl-espalier").read(), PROGRAM.read_bytes())
            self.assertEqual(tar.extractfile("LICENSE").read(), (REPOSITORY / "LICENSE").read_bytes())

    def test_the_same_program_gives_the_same_archive(self):
        self.assertEqual(self.krew(), self.krew(output="again"))
        self.assertEqual((self.folder / "dist" / NAME).read_bytes(), (self.folder / "again" / NAME).read_bytes())

    def test_shared_libraries_are_a_caveat(self):
        self.assertNotIn("caveats:", self.krew())
        self.assertRegex(self.krew(WITH_LIBRARIES), r"(?m)^  caveats: \|\n    This program needs .*\n    libtinfo\.so\.\d+$")

    def test_what_krew_could_not_install_is_refused(self):
        self.assertIn("expected an address with https://", self.krew(uri=URI.replace("https", "http"), status=1))
        self.assertIn("expected a name that ends in .tar.gz", self.krew(uri=URI.replace(".tar.gz", ".zip"), status=1))
        self.assertIn("expected a program for x86-64", self.krew(binary=REPOSITORY / "LICENSE", status=1))
        self.assertIn("there is no such program; cmake --build", self.krew(binary=self.folder / "none", status=1))
        self.assertIn("readelf: the program was not found; install the package binutils",
                      self.krew(status=1, env={"PATH": str(self.folder)}))


if __name__ == "__main__":
    unittest.main()
