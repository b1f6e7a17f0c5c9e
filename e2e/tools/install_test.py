"""services/cmake/check-disk-space.sh, install-test-tools.sh and install-torch.sh, which test.sh sources."""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest
import zipfile

CMAKE = pathlib.Path(__file__).resolve().parents[2] / "services/cmake"
SIGNALS = ("INT", "TERM", "HUP")
# Asks the policy as Debian's invoke-rc.d does; 101: it may not be started.
ASK = 'apt_install() { status=0; "$policy" ssh start || status=$?; echo "$status $*"; '


def heed_signals():
    """Restores the default signal handlers: a shell that runs the tests in the background ignores some signals."""
    for name in SIGNALS:
        signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)


class CheckDiskSpace(unittest.TestCase):
    """The folder has two disks, `a` and `b`, with `free` GiB each; a folder of them that exists contains 2 GiB."""

    STUBS = """
      stat() { case "${@: -1}" in */a*) echo 1 ;; *) echo 2 ;; esac; }
      df() {
        case "$*" in
          *target*) echo Mounted; case "${@: -1}" in */a*) echo /a ;; *) echo /b ;; esac ;;
          *) echo Avail; echo $((FREE << 20)) ;;
        esac
      }
      du() { printf '%d\\t%s\\n' $((2 << 20)) "$2"; }
    """

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-disk-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("a", "b", "a/tmp"):
            (self.folder / name).mkdir()

    def check(self, free, *arguments):
        """Returns the exit status and the messages."""
        script = f"source '{CMAKE}/check-disk-space.sh'\n{self.STUBS}\ncheck_disk_space {' '.join(arguments)}"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, capture_output=True, text=True,
                              timeout=60, check=False,
                              env={"PATH": os.environ["PATH"], "FREE": str(free), "TMPDIR": f"{self.folder}/a/tmp"})
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_adds_up_the_folders_of_a_disk(self):
        folders = (f"{self.folder}/a/new/build 9 'a checkout there'", f"{self.folder}/a/tmp 1 TMPDIR=FOLDER")
        self.assertEqual(self.check(10, *folders), (0, ""))
        self.assertEqual(self.check(9, *folders), (74, f"""\
The disk of /a has 9.0 GiB of free space, and 10.0 GiB are needed:
  9.0 GiB in {self.folder}/a/new/build (on another disk: a checkout there)
  1.0 GiB in {self.folder}/a/tmp (on another disk: TMPDIR=FOLDER)
Delete files on this disk, or use another one as shown.
"""))

    def test_names_only_the_disk_that_lacks_space(self):
        folders = (f"{self.folder}/a/build 9 'a checkout there'", f"{self.folder}/b/tools 5 ESPALIER_TOOLS=FOLDER")
        self.assertEqual(self.check(9, *folders), (0, ""))
        self.assertEqual(self.check(8, *folders), (74, f"""\
The disk of /a has 8.0 GiB of free space, and 9.0 GiB are needed:
  9.0 GiB in {self.folder}/a/build (on another disk: a checkout there)
Delete files on this disk, or use another one as shown.
"""))

    def test_files_of_a_folder_count_as_written(self):
        (self.folder / "a/build").mkdir()
        (self.folder / "a/tools").mkdir()
        folders = (f"{self.folder}/a/build 9 'a checkout there'", f"{self.folder}/a/tools 1 ESPALIER_TOOLS=FOLDER")
        self.assertEqual(self.check(7, *folders), (0, ""))
        self.assertEqual(self.check(6, *folders), (74, f"""\
The disk of /a has 6.0 GiB of free space, and 7.0 GiB are needed:
  7.0 GiB in {self.folder}/a/build (on another disk: a checkout there)
Delete files on this disk, or use another one as shown.
"""))


class WithoutStartingServices(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-install-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.policy = self.folder / "policy-rc.d"

    def install(self, apt_install):
        """Returns the output and exit status if `apt_install` is the installation."""
        lines = ["set -euo pipefail",
                 f"source '{CMAKE}/install-packages.sh'", f"source '{CMAKE}/install-test-tools.sh'",
                 f"policy='{self.policy}'", ASK + apt_install + "; }",
                 'without_starting_services "$policy" apt_install openssh-server iproute2 || echo "not installed"',
                 "echo went on"]
        done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60,
                              preexec_fn=heed_signals)
        return done.stdout.splitlines(), done.returncode

    def test_forbids_starting_services_and_leaves_nothing(self):
        self.assertEqual(self.install("true"), (["101 openssh-server iproute2", "went on"], 0))
        self.assertFalse(self.policy.exists())

    def test_leaves_nothing_if_packages_are_unavailable(self):
        self.assertEqual(self.install("return 100"), (["101 openssh-server iproute2", "not installed", "went on"], 0))
        self.assertFalse(self.policy.exists())

    def test_leaves_nothing_when_it_is_interrupted(self):
        for name in SIGNALS:
            with self.subTest(signal=name):
                # A signal of the terminal reaches all processes of the group.
                output, status = self.install(f"kill -{name} $$ $BASHPID; true")
                self.assertEqual(output, ["101 openssh-server iproute2"])
                self.assertEqual(status, -getattr(signal, "SIG" + name))
                self.assertFalse(self.policy.exists())

    def test_an_existing_policy_is_used_and_kept(self):
        self.policy.write_text("#!/bin/sh\nexit 0\n")
        self.policy.chmod(0o755)
        self.assertEqual(self.install("true"), (["0 openssh-server iproute2", "went on"], 0))
        self.assertTrue(self.policy.exists())


class InstallTorch(unittest.TestCase):
    """Installs wheels from a folder, without a network."""

    FILES = {"torch/include/torch/csrc/api/include/torch/version.h": "2.11.0", "torch/include/google/protobuf/any.h": "",
             "torch/lib/libtorch_cpu.so": "library", "torch/lib/libgomp.so.1": "library",
             "torch/lib/libtorch_cuda.so": "library",
             "torch-2.11.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n",
             "torch-2.11.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_28_x86_64\n",
             "torch-2.11.0.dist-info/RECORD": "", "torch-2.11.0.dist-info/licenses/LICENSE": "licence"}

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-torch-"))
        self.addCleanup(shutil.rmtree, self.folder)
        wheel = self.folder / "wheels/torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl"
        wheel.parent.mkdir()
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, text in self.FILES.items():
                archive.writestr(name, text)
        self.pin(hashlib.sha256(wheel.read_bytes()).hexdigest())

    def pin(self, digest):
        pins = self.folder / "services/cmake/torch-wheels.txt"
        pins.parent.mkdir(parents=True, exist_ok=True)
        pins.write_text(f"# one place\ntorch==2.11.0 --hash=sha256:{digest}\n")

    def install(self, **environment):
        return subprocess.run(["bash", "-euc", f"source '{CMAKE}/install-torch.sh'; install_torch"], cwd=self.folder,
                              capture_output=True, text=True, timeout=110, check=False,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "PIP_NO_INDEX": "1",
                                   "PIP_FIND_LINKS": str(self.folder / "wheels"), **environment})

    def test_downloads_the_needed_parts_of_wheels_once(self):
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        torch = self.folder / "build/torch"
        self.assertEqual(sorted(str(path.relative_to(torch)) for path in torch.rglob("*") if path.is_file()),
                         ["made-from", "torch-2.11.0.dist-info/licenses/LICENSE",
                          "torch/include/torch/csrc/api/include/torch/version.h", "torch/lib/libgomp.so.1",
                          "torch/lib/libtorch_cpu.so"])
        self.assertEqual(os.listdir(self.folder / "build"), ["torch"])
        again = self.install()
        self.assertEqual((again.returncode, again.stdout), (0, ""))

    def test_a_wheel_with_another_hash_fails_and_leaves_nothing(self):
        self.pin("0" * 64)
        done = self.install()
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertIn("ESPALIER_TORCH=FOLDER", done.stderr)
        self.assertEqual(os.listdir(self.folder / "build"), [])

    def test_an_unpacked_torch_is_used_if_valid(self):
        done = self.install(ESPALIER_TORCH=str(self.folder))
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("expected torch/include and torch/lib/libtorch_cpu.so", done.stderr)
        with zipfile.ZipFile(next((self.folder / "wheels").iterdir())) as archive:
            archive.extractall(self.folder)
        self.assertEqual(self.install(ESPALIER_TORCH=str(self.folder)).returncode, 0)
        self.assertFalse((self.folder / "build").exists())


if __name__ == "__main__":
    unittest.main()
