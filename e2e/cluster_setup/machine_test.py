"""The checks of e2e/cluster for simulated machines and for this one."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from cluster_setup import machine
from cluster_setup.state import SOURCE


class CgroupsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="espalier-cgroups-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in machine.CONTROLLERS:
            (self.root / name).mkdir()

    def obstacle(self):
        return machine._obstacle_of_cgroups(self.root)

    def test_all_controllers_are_sufficient_and_leave_nothing(self):
        self.assertIsNone(self.obstacle())
        self.assertEqual(list(self.root.glob("*/*")), [])

    def test_missing_ones_are_named(self):
        (self.root / "cpuset").rmdir()
        (self.root / "pids").rmdir()
        self.assertEqual(self.obstacle(), f"nodes need cgroup v1 controllers in {self.root}; missing: cpuset, pids")

    def test_a_controller_without_new_cgroups_is_named(self):
        (self.root / "memory" / f"espalier-check-{os.getpid()}").touch()
        self.assertEqual(self.obstacle(), f"no cgroups can be made in {self.root}/memory: File exists")


class MemoryTest(unittest.TestCase):
    def test_available_memory_counts(self):
        meminfo = "MemTotal:       33554432 kB\nMemFree:         1000000 kB\nMemAvailable:   {} kB\nBuffers: 5 kB\n"
        self.assertIsNone(machine.shortage(meminfo.format(4 << 20)))
        self.assertEqual(machine.shortage(meminfo.format(3 << 20)), "a cluster takes 4 GiB of memory; available: 3.0")


class KernelTest(unittest.TestCase):
    def test_attributes_are_padded(self):
        self.assertEqual(machine._attribute(1, b"veth"), b"\x08\0\x01\0veth")
        self.assertEqual(machine._attribute(18, b"bridge"), b"\x0a\0\x12\0bridge\0\0")

    def test_a_refusal_is_an_error(self):
        with self.assertRaises(OSError):  # a permission error if this process is not root
            machine._make_link("no-such-kind")

    def test_the_network_of_the_machine_is_not_touched(self):
        here = os.stat("/proc/self/ns/net").st_ino
        with self.assertRaisesRegex(SystemExit, "no network namespace"):
            machine.probe("/nowhere", here)


class CheckTest(unittest.TestCase):
    def test_the_check_passes_or_prints_one_line(self):
        with tempfile.TemporaryDirectory(prefix="espalier-check-") as folder:
            done = subprocess.run([SOURCE / "e2e/cluster", "check"], capture_output=True, text=True, timeout=50,
                                  stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder}, check=False)
            self.assertEqual(os.listdir(folder), [])
        if done.returncode == 0:
            self.assertEqual(done.stdout + done.stderr, "")
        else:
            self.assertEqual(done.returncode, 69, done.stderr)
            self.assertRegex(done.stderr, r"\Ae2e/cluster: this machine cannot host a cluster: .+\n\Z")


if __name__ == "__main__":
    unittest.main()
