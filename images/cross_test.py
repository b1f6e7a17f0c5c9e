"""images/cross: the programs that it compiles, the sysroot that it makes from Debian's packages, and the files that it collects
for the image. It runs unchanged, with stubs of apt, cmake and the compiler. The test makes small packages, with programs of this
machine instead of those for arm64."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

IMAGES = pathlib.Path(__file__).resolve().parent
SOURCE = IMAGES.parent
PROGRAM = pathlib.Path(shutil.which("bash")).resolve()  # loads libtinfo and the C library
FOLDER = f"/usr/lib/{platform.machine()}-linux-gnu"
COMPILED_IN = re.findall(r"^([^#=\n]+)=", (IMAGES / "compiled-in.txt").read_text(), re.MULTILINE)

STUBS = {
    "aarch64-linux-gnu-g++": "",
    "ninja": "",
    "protoc": "",
    "grpc_cpp_plugin": "",
    "apt-cache": 'case "$2" in "$GONE"=*) ;; *) echo there ;; esac',
    # Records its arguments; `install` downloads the packages.
    "apt-get": """echo "$*" >>"$FOLDER/apt-get"
    archives=$(sed -n 's/^Dir::Cache "\\(.*\\)";/\\1/p' "$APT_CONFIG")/archives
    case "$1" in install) cp "$FOLDER"/debs/*.deb "$archives/" ;; esac""",
    # --preset ... -B BUILD: configures; --build BUILD --target NAME...: makes the programs.
    "cmake": """echo "$*" >>"$FOLDER/cmake"
    if [ "$1" = --build ]; then
      mkdir -p "$2/bin"
      shift 3
      for target; do cp "$PROGRAM" "$FOLDER/out/release/bin/$target"; done
    fi""",
}


def collected_for_core():
    """The programs that images/Dockerfile collects for the image core on this machine's processor."""
    stage = (IMAGES / "Dockerfile").read_text().partition(" AS core-files\n")[2].partition("\nFROM ")[0]
    return re.search(r"collect\.sh /rootfs (\d+) \\\n((?:.*\\\n)*.*)", stage)


class CrossTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-cross-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "stubs").mkdir()
        (self.folder / "debs").mkdir()
        for name, text in STUBS.items():
            self.stub(name, text)
        libraries = dict(re.findall(r"^\s*(\S+) => (\S+)", subprocess.run(
            ["ldd", PROGRAM], capture_output=True, text=True, check=True, timeout=60).stdout, re.MULTILINE))
        self.package("libc6", {"/lib/ld-other.so": "the dynamic linker", FOLDER.removeprefix("/usr") + "/libc.so.6":
                               pathlib.Path(libraries.pop("libc.so.6"))})
        [(name, path)] = libraries.items()
        self.library = name
        self.package("libtinfo6", {f"{FOLDER.removeprefix('/usr')}/{name}": pathlib.Path(path)},
                     links={f"{FOLDER}/libtinfo.so": f"{FOLDER.removeprefix('/usr')}/{name}"})
        self.package("ca-certificates", {"/usr/share/ca-certificates/mozilla/b.crt": "second\n",
                                         "/usr/share/ca-certificates/mozilla/a.crt": "first\n"})
        for package in COMPILED_IN:
            self.package(package, {})

    def stub(self, name, text):
        path = self.folder / "stubs" / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)

    def package(self, name, files, links=None, version="1"):
        """Makes a Debian package for arm64 with its license and `files`, {path: text, or file to copy}."""
        tree = self.folder / "trees" / version / name
        for path, content in {**files, f"/usr/share/doc/{name}/copyright": f"license of {name}"}.items():
            file = tree / path[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, pathlib.Path):
                shutil.copy(content, file)
            else:
                file.write_text(content)
        for path, to in (links or {}).items():
            link = tree / path[1:]
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(to)
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN/control").write_text(f"Package: {name}\nVersion: {version}\nArchitecture: arm64\nMulti-Arch: same\n"
                                             "Maintainer: A Name <a@example.com>\nDescription: a package\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, self.folder / f"debs/{name}_1_arm64.deb"],
                       check=True, capture_output=True, timeout=60)

    def cross(self, *words, gone="", path="/usr/bin:/bin", images=IMAGES):
        return subprocess.run(
            [shutil.which("bash"), images / "cross", "--folder", self.folder / "out", *words], capture_output=True, text=True,
            timeout=60, env={"PATH": f"{self.folder}/stubs:{path}", "FOLDER": str(self.folder), "PROGRAM": str(PROGRAM),
                             "GONE": gone})

    def calls(self, name):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def installations(self):
        return len([line for line in self.calls("apt-get") if line.startswith("install")])

    def test_its_programs_are_those_of_the_image(self):
        limit, programs = collected_for_core().groups()
        text = (IMAGES / "cross").read_text()
        self.assertEqual(re.search(r"^core=\((.*)\)$", text, re.MULTILINE)[1].split(), programs.split())
        self.assertIn(f'collect.sh "$folder/rootfs" {limit} "${{core[@]}}"\n', text)

        done = self.cross("arm64")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line for line in self.calls("cmake") if line.startswith("--build")],
                         [f"--build {self.folder}/out/release --target {' '.join(programs.split())} kubectl-espalier"])

    def test_cmake_gets_the_toolchain_file_and_no_torch(self):
        self.assertEqual(self.cross("arm64").returncode, 0)
        self.assertEqual(self.calls("cmake")[0], (
            f"--preset release -B {self.folder}/out/release -DCMAKE_TOOLCHAIN_FILE={SOURCE}/services/cmake/arm64.cmake "
            f"-DESPALIER_SYSROOT={self.folder}/out/sysroot -DESPALIER_TRAINER=OFF -DESPALIER_TESTS=OFF "
            "-DESPALIER_BENCHMARKS=OFF"))

    def test_only_named_targets_are_built(self):
        done = self.cross("arm64", "kubectl-espalier")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls("cmake")[1:], [f"--build {self.folder}/out/release --target kubectl-espalier"])
        self.assertFalse((self.folder / "out/rootfs").exists())

    def test_the_packages_are_those_of_the_build_in_the_pinned_versions(self):
        self.assertEqual(self.cross("arm64", "kubectl-espalier").returncode, 0)
        [words] = [line.split() for line in self.calls("apt-get") if line.startswith("install")]
        pins = [line for name in ("packages-core.txt", "compiled-in.txt") for line in (IMAGES / name).read_text().splitlines()
                if not line.startswith("#")]
        self.assertLessEqual({"libgrpc++-dev", "libcpprest-dev", "libc6-dev", "zlib1g-dev", "--download-only", *pins}, set(words))
        self.assertEqual({"protobuf-compiler", "protobuf-compiler-grpc", "cmake", "clang", "curl"} & set(words), set())

    def test_dpkg_queries_the_sysroot(self):
        self.assertEqual(self.cross("arm64", "kubectl-espalier").returncode, 0)
        sysroot = self.folder / "out/sysroot"
        environment = {**os.environ, "DPKG_ADMINDIR": str(sysroot / "var/lib/dpkg")}
        library = f"{FOLDER.removeprefix('/usr')}/{self.library}"
        self.assertEqual(subprocess.run(["dpkg", "-S", library], capture_output=True, text=True, check=True, env=environment,
                                        timeout=60).stdout, f"libtinfo6:arm64: {library}\n")
        self.assertEqual(subprocess.run(["dpkg-query", "-W", "-f", "${Package}=${Version}\n", "libtinfo6"], capture_output=True,
                                        text=True, check=True, env=environment, timeout=60).stdout, "libtinfo6=1\n")
        # In the package this link is absolute, and would point outside of the sysroot.
        self.assertEqual((sysroot / f"{FOLDER[1:]}/libtinfo.so").resolve(), (sysroot / f"{FOLDER[1:]}/{self.library}").resolve())
        self.assertEqual((sysroot / "etc/ssl/certs/ca-certificates.crt").read_text(), "first\nsecond\n")

    def test_a_sysroot_is_made_once(self):
        for _ in range(2):
            self.assertEqual(self.cross("arm64", "kubectl-espalier").returncode, 0)
        self.assertEqual(self.installations(), 1)

    def test_a_sysroot_is_made_again_if_what_it_is_made_from_changes(self):
        images = self.folder / "source/images"
        for name in ("images/cross", "images/packages-core.txt", "images/compiled-in.txt", "services/cmake/debian-packages.txt"):
            (self.folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.folder / "source" / name)
        for number, (name, old, new) in enumerate((
                ("images/cross", "set -euo pipefail", "set -euo pipefail  # another line"),
                ("images/packages-core.txt", "\nlib", "\nlibother1=1\nlib"),
                ("services/cmake/debian-packages.txt", "\nlibabsl-dev\n", "\nlibabsl-dev\nlibother-dev\n")), 1):
            self.assertEqual(self.cross("arm64", "kubectl-espalier", images=images).returncode, 0)
            self.assertEqual(self.installations(), number)
            text = (self.folder / "source" / name).read_text()
            self.assertIn(old, text)
            (self.folder / "source" / name).write_text(text.replace(old, new, 1))
            self.assertEqual(self.cross("arm64", "kubectl-espalier", images=images).returncode, 0)
            self.assertEqual(self.installations(), number + 1, name)

    def test_another_version_of_a_package_compiles_everything_again(self):
        note, key = self.folder / "out/release/bin/compiled", self.folder / "out/sysroot-of"
        self.assertEqual(self.cross("arm64", "kubectl-espalier").returncode, 0)
        note.touch()
        key.unlink()
        self.assertEqual(self.cross("arm64", "kubectl-espalier").returncode, 0)
        self.assertTrue(note.exists())  # the sysroot has been made again, with the same packages
        self.package("libtinfo6", {}, version="2")
        key.unlink()
        self.assertEqual(self.cross("arm64", "kubectl-espalier").returncode, 0)
        self.assertFalse(note.exists())

    def test_the_image_gets_the_libraries_that_its_programs_load(self):
        done = self.cross("arm64")
        self.assertEqual(done.returncode, 0, done.stderr)
        rootfs = self.folder / "out/rootfs"
        self.assertEqual(sorted(path.name for path in (rootfs / "usr/bin").iterdir()),
                         sorted(collected_for_core()[2].split()))
        self.assertEqual([path.name for path in rootfs.rglob("*.so*")], [self.library])
        self.assertEqual((rootfs / "usr/share/doc/espalier/packages.txt").read_text().splitlines()[:2],
                         ["ca-certificates=1", "libtinfo6=1"])
        self.assertEqual((rootfs / "usr/share/doc/espalier/files.txt").read_text(), f"libtinfo6\t{FOLDER}/{self.library}\n")
        for package in ("libtinfo6", *COMPILED_IN):
            self.assertEqual((rootfs / f"usr/share/doc/{package}/copyright").read_text(), f"license of {package}")
        self.assertEqual((rootfs / "etc/ssl/certs/ca-certificates.crt").read_text(), "first\nsecond\n")

    def test_missing_programs_are_named(self):
        pin = (IMAGES / "packages-core.txt").read_text().splitlines()[-1]
        done = self.cross("arm64", gone=pin.partition("=")[0])
        self.assertEqual(done.returncode, 65)
        self.assertEqual(done.stderr, f"images/cross: these versions are not available for arm64: {pin}. Run images/pin and "
                                      "review its changes\n")
        (self.folder / "stubs/aarch64-linux-gnu-g++").unlink()
        tools = self.folder / "tools"
        tools.mkdir()
        for name in ("dirname", "sed"):
            (tools / name).symlink_to(shutil.which(name))
        done = self.cross("arm64", path=tools)
        self.assertEqual(done.returncode, 69)
        self.assertEqual(done.stderr, "images/cross: needs aarch64-linux-gnu-g++: apt-get install g++-aarch64-linux-gnu\n")

    def test_unknown_arguments_are_refused(self):
        for words in ([], ["amd64"], ["--tag", "1", "arm64"]):
            done = self.cross(*words)
            self.assertEqual(done.returncode, 64, words)
            self.assertIn("images/cross [--folder FOLDER] arm64", done.stderr)
        self.assertEqual(self.calls("cmake"), [])

    def test_the_toolchain_file_needs_the_sysroot(self):
        done = subprocess.run([shutil.which("cmake"), "-P", SOURCE / "services/cmake/arm64.cmake"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ESPALIER_SYSROOT is ''; expected the folder that images/cross makes", " ".join(done.stderr.split()))


class LinkedLibrariesTest(unittest.TestCase):
    def linked(self, *words, status=0):
        done = subprocess.run([IMAGES / "linked-libraries", *words], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr if status else done.stdout

    def test_the_libraries_match_ldd(self):
        loaded = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertEqual(sorted(re.findall(r"^\s*(\S+) => (/\S+)", self.linked("/", PROGRAM), re.MULTILINE)),
                         sorted(re.findall(r"^\s*(\S+) => (/\S+)", loaded, re.MULTILINE)))

    def test_a_library_that_the_sysroot_lacks_is_named(self):
        with tempfile.TemporaryDirectory(prefix="espalier-cross-") as folder:
            self.assertIn("\tlibc.so.6 => not found\n", self.linked(folder, PROGRAM))

    def test_other_files_are_refused(self):
        self.assertIn(f"images/linked-libraries: {IMAGES}/cross: expected a program or a shared library",
                      self.linked("/", IMAGES / "cross", status=1))


if __name__ == "__main__":
    unittest.main()
