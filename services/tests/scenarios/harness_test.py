"""The harness itself: the files that a failed test leaves, and the processes that count as alive."""

import contextlib
import io
import os
import shutil
import subprocess
import unittest

import harness


class ScratchFolder(unittest.TestCase):
    def is_kept(self, test):
        """Returns whether the scratch folder exists after a scenario with this test."""
        class Told(harness.Scenario):
            def runTest(self):
                test(self)

        told = Told()
        with contextlib.redirect_stdout(io.StringIO()) as output:
            told.run(unittest.TestResult())
        kept = told.dir.exists()
        shutil.rmtree(told.dir, ignore_errors=True)
        self.assertEqual(f"kept: {told.dir}" in output.getvalue(), kept)
        return kept

    def test_is_kept_when_the_test_fails(self):
        self.assertTrue(self.is_kept(lambda scenario: scenario.fail()))
        self.assertTrue(self.is_kept(lambda scenario: scenario.no_such_method()))

    def test_is_kept_when_a_part_of_the_test_fails(self):
        def fail_in_a_part(scenario):
            for part in range(3):
                with scenario.subTest(part=part):
                    scenario.assertNotEqual(part, 1)

        self.assertTrue(self.is_kept(fail_in_a_part))

    def test_is_deleted_if_the_test_passes_or_is_skipped(self):
        def pass_in_a_part(scenario):
            with scenario.subTest():
                scenario.assertTrue(scenario.dir.exists())

        self.assertFalse(self.is_kept(pass_in_a_part))
        self.assertFalse(self.is_kept(lambda scenario: scenario.skipTest("not here")))

    def test_is_deleted_if_another_test_fails(self):
        class Two(harness.Scenario):
            def test_1(self):
                self.fail()

            def test_2(self):
                pass

        first, second, result = Two("test_1"), Two("test_2"), unittest.TestResult()
        with contextlib.redirect_stdout(io.StringIO()):
            first.run(result)
            second.run(result)
        self.addCleanup(shutil.rmtree, first.dir)
        self.assertTrue(first.dir.exists())
        self.assertFalse(second.dir.exists())


class IsAlive(unittest.TestCase):
    def test_an_unreaped_process_is_not_running(self):
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.assertTrue(harness.is_alive(process.pid))
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.assertTrue(os.path.exists(f"/proc/{process.pid}"))
        self.assertFalse(harness.is_alive(process.pid))
        process.wait()
        self.assertFalse(harness.is_alive(process.pid))


if __name__ == "__main__":
    unittest.main()
