"""Without retries, the death of any process ends the run within its deadline, with the reason, and no process remains.

(With retries: recovery.py.)
"""

import json
import os
import signal
import time

from harness import Scenario, children_of, is_alive, job

EPOCHS = 100000  # never reached


class Faults(Scenario):
    def setUp(self):
        super().setUp()
        self.graph = self.generate("--nodes", 3000, "--edges", 40000, "--classes", 4, "--features", 16)

    def start_training(self, name="run", **changes):
        """Starts a long run, and returns it when its log reports the end of the first epoch."""
        process = self.start(job(self.graph, training__epochs=EPOCHS, trainers={"replicas": 2, "threads": 1},
                                 samplers={"replicas": 1}, runPolicy={"backoffLimit": 0}, **changes), name)
        self.addCleanup(process.kill)
        log = self.dir / name / "logs/trainer-0.log"
        deadline = time.monotonic() + 120
        while not (log.exists() and self.epochs_done(log) > 0):
            self.assertIsNone(process.poll(), process.stdout.read() if process.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline, "no epoch within 120 s")
            os.sched_yield()
        return process

    @staticmethod
    def epochs_done(log):
        return sum(json.loads(line).get("message") == "epoch" for line in log.read_text().splitlines() if line.endswith("}"))

    def kill_one(self, process, role):
        children = children_of(process.pid)
        victim = next(pid for pid, command in children.items() if f"espalier-{role}" in command)
        os.kill(victim, signal.SIGKILL)
        return set(children)

    def expect_end(self, process, children, seconds=60):
        output, _ = process.communicate(timeout=seconds)
        for pid in children:
            self.assertFalse(is_alive(pid), f"process {pid} survived")
        return output

    def test_a_killed_process_ends_the_run_with_its_name(self):
        for role, name in ("graph-server", "server"), ("trainer", "trainer"), ("sampler", "sampler"):
            with self.subTest(role=role):
                process = self.start_training(f"kill-{role}")
                children = self.kill_one(process, role)
                output = self.expect_end(process, children)
                self.assertEqual(process.returncode, 74, output)
                self.assertRegex(output, name + r"-\d ended with signal 9")

    def test_ctrl_c_ends_everything_with_75(self):
        process = self.start_training()
        children = set(children_of(process.pid))
        process.send_signal(signal.SIGINT)
        self.expect_end(process, children)
        self.assertEqual(process.returncode, 75)

    def test_nothing_survives_a_killed_run(self):
        process = self.start_training()
        children = set(children_of(process.pid))
        self.assertGreaterEqual(len(children), 5)
        process.kill()
        process.wait(timeout=10)
        deadline = time.monotonic() + 30
        while any(is_alive(pid) for pid in children):
            self.assertLess(time.monotonic(), deadline, "processes survived the run")
            os.sched_yield()

    def test_concurrent_runs_are_separate_and_a_folder_serves_one_run(self):
        first = self.start_training("first")
        second = self.start_training("second")
        third = self.start(job(self.graph), "first")
        output, _ = third.communicate(timeout=30)
        self.assertNotEqual(third.returncode, 0)
        self.assertIn("first", output)
        for process in (first, second):
            self.assertIsNone(process.poll())
            children = set(children_of(process.pid))
            process.terminate()
            self.expect_end(process, children)
            self.assertEqual(process.returncode, 75)
