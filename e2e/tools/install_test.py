"""services/cmake/install-test-tools.sh, which test.sh sources."""

import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

CMAKE = pathlib.Path(__file__).resolve().parents[2] / "services/cmake"
SIGNALS = ("INT", "TERM", "HUP")
# Asks the policy as Debian's invoke-rc.d does; 101: it may not be started.
ASK = 'apt_install() { status=0; "$policy" ssh start || status=$?; echo "$status $*"; '


def heed_signals():
    """Whoever runs the tests in the background, or with nohup, ignores some, and so do the processes below."""
    for name in SIGNALS:
        signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)


class WithoutStartingServices(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-install-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.policy = self.folder / "policy-rc.d"

    def install(self, apt_install):
        """What it prints and ends with where installing does this."""
        lines = ["set -euo pipefail",
                 f"source '{CMAKE}/install-packages.sh'", f"source '{CMAKE}/install-test-tools.sh'",
                 f"policy='{self.policy}'", ASK + apt_install + "; }",
                 'without_starting_services "$policy" apt_install openssh-server iproute2 || echo "not installed"',
                 "echo went on"]
        done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60,
                              preexec_fn=heed_signals)
        return done.stdout.splitlines(), done.returncode

    def test_forbids_to_start_them_and_leaves_nothing(self):
        self.assertEqual(self.install("true"), (["101 openssh-server iproute2", "went on"], 0))
        self.assertFalse(self.policy.exists())

    def test_leaves_nothing_where_the_packages_do_not_come(self):
        self.assertEqual(self.install("return 100"), (["101 openssh-server iproute2", "not installed", "went on"], 0))
        self.assertFalse(self.policy.exists())

    def test_leaves_nothing_when_it_is_interrupted(self):
        for name in SIGNALS:
            with self.subTest(signal=name):
                # A signal of the terminal comes to everybody.
                output, status = self.install(f"kill -{name} $$ $BASHPID; true")
                self.assertEqual(output, ["101 openssh-server iproute2"])
                self.assertEqual(status, -getattr(signal, "SIG" + name))
                self.assertFalse(self.policy.exists())

    def test_a_policy_of_the_machines_owner_decides_and_stays(self):
        self.policy.write_text("#!/bin/sh\nexit 0\n")
        self.policy.chmod(0o755)
        self.assertEqual(self.install("true"), (["0 openssh-server iproute2", "went on"], 0))
        self.assertTrue(self.policy.exists())


if __name__ == "__main__":
    unittest.main()
