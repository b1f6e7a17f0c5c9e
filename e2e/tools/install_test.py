"""services/cmake/install-test-tools.sh and install-torch.sh, which test.sh sources."""

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
