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
WITHOUT_RPATH = pathlib.Path(shutil.which("bash")).resolve()
SOURCE = """#include <iostream>
int main() { std::cout << "runs\\n"; }
"""


class KrewTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-krew-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def krew(self, binary=PROGRAM, uri=URI, output="dist", status=0, sysroot=None, **options):
        done = subprocess.run(
            [sys.executable, REPOSITORY / "operator/packaging/krew", "--binary", binary, "--uri", uri, "--homepage",
             "https://git.example.com/espalier", "--output", self.folder / output,
             *([] if sysroot is None else ["--sysroot", sysroot])],
            capture_output=True, text=True, timeout=60, check=False, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else (self.folder / output / "espalier.yaml").read_text()

    def test_the_manifest_has_what_krew_requires(self):
        manifest = self.krew()
        data = (self.folder / "dist" / NAME).read_bytes()
        for line in ("apiVersion: krew.googlecontainertools.github.com/v1alpha2", "kind: Plugin", "  name: espalier",
                     f'  version: "v{VERSION}"', '  homepage: "https://git.example.com/espalier"',
                     "        os: linux", "        arch: amd64", f'    uri: "{URI}"',
                     f'    sha256: "{hashlib.sha256(data).hexdigest()}"', "    bin: kubectl-espalier"):
            self.assertIn(line, manifest.splitlines())
        [short] = re.findall(r"^  shortDescription: (.+)$", manifest, re.MULTILINE)
        self.assertLessEqual(len(short), 50)
        self.assertFalse(short.endswith("."))

    def test_the_archive_has_program_and_license(self):
        self.krew()
        with tarfile.open(self.folder / "dist" / NAME) as tar:
            members = {member.name: member for member in tar}
            self.assertEqual([name for name in sorted(members) if not name.startswith("licenses/")],
                             ["LICENSE", "kubectl-espalier"])
            self.assertIn("licenses/nlohmann-json3-dev.txt", members)  # whose headers are compiled into the plugin
            self.assertEqual(members["kubectl-espalier"].mode, 0o755)
            self.assertEqual(tar.extractfile("kubectl-espalier").read(), PROGRAM.read_bytes())
            self.assertEqual(tar.extractfile("LICENSE").read(), (REPOSITORY / "LICENSE").read_bytes())

    def test_the_same_program_gives_the_same_archive(self):
        self.assertEqual(self.krew(), self.krew(output="again"))
        self.assertEqual((self.folder / "dist" / NAME).read_bytes(), (self.folder / "again" / NAME).read_bytes())

    def linked_program(self):
        """A program that loads the C++ library, linked as the plugin is."""
        program = self.folder / "program"
        subprocess.run(["c++", "-x", "c++", "-", "-o", program, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib"], input=SOURCE,
                       text=True, check=True, timeout=50)
        return program

    def test_the_archive_has_the_libraries_with_their_licenses(self):
        self.krew(self.linked_program())
        unpacked = self.folder / "unpacked"
        with tarfile.open(self.folder / "dist" / NAME) as tar:
            tar.extractall(unpacked, filter="data")
        self.assertIn("libstdc++.so.6", [path.name for path in unpacked.glob("lib/*")])
        self.assertEqual([path.name for path in unpacked.glob("lib/*") if path.name.startswith(("libc.", "libm."))], [])
        self.assertIn("GNU", (unpacked / "licenses/libstdc++6.txt").read_text())
        self.assertTrue((unpacked / "licenses/common/GPL-3").is_file())

        loads = subprocess.run(["ldd", unpacked / "kubectl-espalier"], capture_output=True, text=True, check=True, timeout=50)
        self.assertIn(f"libstdc++.so.6 => {unpacked}/lib/libstdc++.so.6 ", loads.stdout)
        # As krew installs it: a link in another folder.
        link = self.folder / "link"
        link.symlink_to(unpacked / "kubectl-espalier")
        runs = subprocess.run([link], capture_output=True, text=True, check=True, timeout=50)
        self.assertEqual(runs.stdout, "runs\n")

    def sysroot(self, program):
        """A folder as images/cross makes it, with this machine's libraries of the program in place of those for arm64."""
        folder = self.folder / "sysroot"
        libraries = folder / "usr/lib/aarch64-linux-gnu"
        libraries.mkdir(parents=True)
        (folder / "lib").symlink_to("usr/lib")
        loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True, timeout=50).stdout
        for path in re.findall(r"=> (/\S+)", loaded):
            shutil.copy(path, libraries)
        (folder / "var/lib/dpkg/info").mkdir(parents=True)
        (folder / "var/lib/dpkg/info/format").write_text("1\n")
        (folder / "var/lib/dpkg/arch").write_text("amd64\narm64\n")
        status = "".join(f"Package: {name}\nStatus: install ok unpacked\nArchitecture: arm64\nMulti-Arch: same\nVersion: 1\n"
                         f"Maintainer: A Name <a@example.com>\nDescription: a package\n\n" for name in ("libgcc-s1", "libstdc++6"))
        (folder / "var/lib/dpkg/status").write_text(status)
        for name, file in (("libgcc-s1", "/lib/aarch64-linux-gnu/libgcc_s.so.1"),
                           ("libstdc++6", "/usr/lib/aarch64-linux-gnu/libstdc++.so.6")):
            (folder / f"var/lib/dpkg/info/{name}:arm64.list").write_text(f"/.\n{file}\n")
        headers = re.findall(r"^([^#=\n]+)=", (REPOSITORY / "images/compiled-in.txt").read_text(), re.MULTILINE)
        for name in ("libgcc-s1", "libstdc++6", *headers):
            license = folder / f"usr/share/doc/{name}/copyright"
            license.parent.mkdir(parents=True)
            license.write_text(f"of {name} for arm64")
        return folder

    def test_a_program_for_arm64_is_packed_with_the_libraries_of_its_sysroot(self):
        program = self.linked_program()
        sysroot = self.sysroot(program)
        data = bytearray(program.read_bytes())
        data[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
        program.write_bytes(data)
        uri = URI.replace("amd64", "arm64")
        self.assertIn("        arch: arm64", self.krew(program, uri=uri, sysroot=sysroot).splitlines())
        with tarfile.open(self.folder / "dist" / NAME.replace("amd64", "arm64")) as tar:
            self.assertEqual([name for name in tar.getnames() if name.startswith("lib/")],
                             ["lib/libgcc_s.so.1", "lib/libstdc++.so.6"])
            self.assertEqual(tar.extractfile("licenses/libstdc++6.txt").read(), b"of libstdc++6 for arm64")
            self.assertEqual(tar.extractfile("kubectl-espalier").read(), data)

        self.assertIn(f"{program}: is for arm64: name the folder with its libraries, --sysroot build/arm64/sysroot",
                      self.krew(program, uri=uri, status=1))
        (sysroot / "usr/lib/aarch64-linux-gnu/libstdc++.so.6").unlink()
        self.assertIn(f"{program}: libstdc++.so.6 is not in {sysroot}; package the program where it was linked",
                      self.krew(program, uri=uri, sysroot=sysroot, status=1))
        self.assertIn(f"{PROGRAM}: expected a program for arm64", self.krew(sysroot=sysroot, status=1))
        self.assertIn("there is no such folder; images/cross arm64 makes it", self.krew(sysroot=self.folder / "none", status=1))

    def test_a_program_that_would_not_find_its_libraries_is_refused(self):
        self.assertIn("bash: expected the RPATH $ORIGIN/lib, with which the target kubectl-espalier is linked",
                      self.krew(WITHOUT_RPATH, status=1))

    def test_manifests_that_krew_cannot_install_are_refused(self):
        self.assertIn("expected an address with https://", self.krew(uri=URI.replace("https", "http"), status=1))
        self.assertIn("expected a name that ends in .tar.gz", self.krew(uri=URI.replace(".tar.gz", ".zip"), status=1))
        self.assertIn("expected a program for x86-64", self.krew(binary=REPOSITORY / "LICENSE", status=1))
        self.assertIn("there is no such program; cmake --build", self.krew(binary=self.folder / "none", status=1))
        self.assertIn("readelf: the program was not found; install the package binutils",
                      self.krew(status=1, env={"PATH": str(self.folder)}))


if __name__ == "__main__":
    unittest.main()
