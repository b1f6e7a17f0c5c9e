"""If any process dies, the run continues and ends with the parameters of an undisturbed run."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from harness import BIN, CORA, Scenario, children_of, is_alive, job

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import random_kills  # noqa: E402

BATCH = 16  # nine steps an epoch: Cora's public split has 140 training nodes
EPOCHS = 45  # all faults happen in the first quarter, because the test may have to wait for a processor
EPOCHS_UNWATCHED = 20  # if processes end by failpoints, which do not depend on the test's speed


def cora(**changes):
    settings = dict(training__task={"type": "NodeClassification", "label": "node-label", "split": "public"},
                    training__batchSize=BATCH, training__epochs=EPOCHS, training__evaluation={
                        "everyEpochs": 10, "metric": "Accuracy", "neighborhood": "Full"},
                    graph__preprocess={"normalizeFeatures": "Row"}, trainers={"replicas": 2, "threads": 1},
                    samplers={"replicas": 1}, checkpoint={"every": {"steps": 10}, "keep": 2},
                    output={"save": ["Model"]}, runPolicy={"backoffLimit": 20})
    return job(CORA, "OGB", **{**settings, **changes})


# The rows are read as BF16; recovery restores also the F32 rows that are updated.
ROWS = dict(training__inputs=[{"features": ["node-feat"], "embedding": {
    "size": 8, "dtype": "BF16", "optimizer": {"type": "Adam", "learningRate": 0.01}}}])


class RecoveryScenario(Scenario):
    undisturbed = {}  # result by name

    def undisturbed_run(self, name, document):
        """Returns the result of an undisturbed run, computed once for all tests that use it."""
        if name not in RecoveryScenario.undisturbed:
            RecoveryScenario.undisturbed[name] = self.run_job(document, name, "--access", "rpc")
        return RecoveryScenario.undisturbed[name]

    def digest(self):
        return self.undisturbed_run("undisturbed", cora())["parametersDigest"]

    def under_fire(self, name, kills=(), environment=None, document=None, args=()):
        """Runs the job with these kills, [(child, step)]; returns its result."""
        options = argparse.Namespace(bin=BIN, access="rpc", deadline=240, renew_certificates=0,
                                     more=list(args))
        path = self.write_job(document or cora(), name + ".json")
        kills = [random_kills.Kill(*kill) for kill in kills]
        outcome = random_kills.run_once(options, path, self.dir / name, kills, environment or {})
        self.assertEqual(outcome.problem, "")
        self.assertTrue(all(kill.done for kill in kills), kills)
        self.log = (self.dir / name).with_suffix(".log").read_text()
        return outcome.result

    def wait_for_steps(self, process, name, steps):
        """Waits until the run has made this many steps and still trains."""
        watch = random_kills.Watch(self.dir / name)
        deadline = time.monotonic() + 120
        while (watch.steps_done() or 0) < steps:
            self.assertIsNone(process.poll(), process.stdout.read() if process.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline, f"{steps} steps take more than 120 s")
            time.sleep(0.02)
        return watch

    def start_and_wait(self, name, steps, document, *args):
        process = self.start(document, name, "--access", "rpc", *args)
        self.addCleanup(process.kill)
        return process, self.wait_for_steps(process, name, steps)

    def wait_for_checkpoint(self, name, step):
        """Waits until a checkpoint of that step or a later one is complete, because trainers continue while a
        checkpoint is written."""
        deadline = time.monotonic() + 120
        while not any(int(manifest.parent.name.split("-")[1]) >= step
                      for manifest in (self.dir / name / "checkpoints").glob("*/manifest.json")):
            self.assertLess(time.monotonic(), deadline, "no checkpoint")
            time.sleep(0.02)


class Recovery(RecoveryScenario):
    def test_each_role_is_replaced_and_nothing_changes(self):
        result = self.under_fire("roles", [("server-1", 15), ("sampler-0", 35), ("trainer-1", 55), ("server-0", 70),
                                           ("trainer-0", 90)])
        self.assertEqual(result["parametersDigest"], self.digest())
        self.assertEqual(result["restarts"], {"trainers": 2, "services": 3})
        self.assertIn("trainer-1 was killed (signal 9); restarting trainers from epoch ", self.log)
        self.assertIn("server-1 was killed (signal 9); starting it again (attempt 1 of 20)", self.log)

    def test_a_failed_replica_does_not_stop_the_run(self):
        document = cora(servers={"replicasPerPartition": 2})
        # Servers 2 and 3 are the replicas of partitions 0 and 1.
        result = self.under_fire("dead-replicas", [("server-2", 20), ("server-1", 45), ("server-3", 70)],
                                 document=document)
        self.assertEqual(result["parametersDigest"], self.digest())
        self.assertEqual(result["restarts"], {"trainers": 0, "services": 3})
        self.assertEqual(result["incarnation"], 1)

    def test_learnable_rows_depend_on_the_first_server_only(self):
        document = cora(servers={"replicasPerPartition": 2}, **ROWS)
        undisturbed = self.undisturbed_run("rows", cora(**ROWS))
        result = self.under_fire("replicated-rows-under-fire", [("server-3", 25), ("server-1", 60)],
                                 document=document)
        self.assertEqual(result["parametersDigest"], undisturbed["parametersDigest"])
        self.assertEqual(result["learnableRowsDigest"], undisturbed["learnableRowsDigest"])
        self.assertEqual(result["restarts"], {"trainers": 1, "services": 2})

    def test_processes_of_a_server_give_the_numbers_of_one(self):
        undisturbed = self.undisturbed_run("rows", cora(**ROWS))
        # Servers 2 and 3 are the second processes of partitions 0 and 1; server 1 has the rows of partition 1.
        result = self.under_fire("two-processes", [("server-3", 25), ("server-1", 60), ("server-2", 90)],
                                 document=cora(servers={"containersPerPod": 2}, **ROWS))
        self.assertEqual(result["parametersDigest"], undisturbed["parametersDigest"])
        self.assertEqual(result["learnableRowsDigest"], undisturbed["learnableRowsDigest"])
        self.assertEqual(result["restarts"], {"trainers": 1, "services": 3})

    def test_learnable_rows_return_to_the_checkpoint_with_all_trainers(self):
        document = cora(**ROWS)
        undisturbed = self.undisturbed_run("rows", document)
        self.assertNotEqual(undisturbed["parametersDigest"], self.digest())
        result = self.under_fire("rows-under-fire", [("server-1", 25), ("trainer-1", 55), ("server-0", 90)],
                                 document=document)
        self.assertEqual(result["parametersDigest"], undisturbed["parametersDigest"])
        self.assertEqual(len(undisturbed["learnableRowsDigest"]), 64)
        self.assertEqual(result["learnableRowsDigest"], undisturbed["learnableRowsDigest"])
        self.assertEqual(result["restarts"], {"trainers": 3, "services": 2})
        logs = "".join(log.read_text() for log in (self.dir / "rows-under-fire" / "logs").glob("trainer-*"))
        self.assertIn("lost the learnable rows", logs)

    def test_a_crash_at_each_place_of_a_checkpoint_changes_nothing(self):
        document = cora(training__epochs=EPOCHS_UNWATCHED)
        undisturbed = self.undisturbed_run("undisturbed-unwatched", document)
        for place in ("checkpoint.before_upload=crash@3", "checkpoint.after_file=crash@5",
                      "checkpoint.before_manifest=crash@3", "checkpoint.after_manifest=crash@3",
                      "checkpoint.prune=crash@2"):
            with self.subTest(place=place):
                name = place.replace("=", "-")
                result = self.under_fire(name, document=document,
                                         environment={"ESPALIER_FAILPOINTS_TRAINER_0": place})
                self.assertEqual(result["parametersDigest"], undisturbed["parametersDigest"])
                self.assertEqual(result["restarts"]["trainers"], 1)

    def test_a_crash_while_rows_are_saved_rolls_back_all_processes(self):
        """The other trainers detect the dead trainer during a checkpoint, not during a step."""
        document = cora(training__epochs=EPOCHS_UNWATCHED, training__inputs=[{
            "features": ["node-feat"], "embedding": {
                "size": 8, "optimizer": {"type": "Adagrad", "learningRate": 0.05}}}])
        undisturbed = self.run_job(document, "kept-rows", "--access", "rpc")
        result = self.under_fire("crash-while-rows-are-kept", document=document,
                                 environment={"ESPALIER_FAILPOINTS_TRAINER_0": "checkpoint.snapshot=crash@2"})
        self.assertEqual(result["parametersDigest"], undisturbed["parametersDigest"])
        self.assertEqual(result["learnableRowsDigest"], undisturbed["learnableRowsDigest"])
        self.assertEqual(result["restarts"]["trainers"], 1)

    def test_random_kills(self):
        folder = self.dir / "kills"
        folder.mkdir()
        args = random_kills.parser().parse_args(["--bin", str(BIN), "--runs", "3", "--seed", "scenario",
                                                 "--output", str(folder)])
        outcomes = random_kills.run_all(args, folder)
        self.assertEqual([outcome.problem for outcome in outcomes], [""] * 3)

    def test_random_kills_with_learnable_rows(self):
        folder = self.dir / "kills"
        folder.mkdir()
        args = random_kills.parser().parse_args(["--bin", str(BIN), "--runs", "2", "--seed", "rows",
                                                 "--learnable-rows", "8", "--output", str(folder)])
        outcomes = random_kills.run_all(args, folder)
        self.assertEqual([outcome.problem for outcome in outcomes], [""] * 2)

    def test_without_retries_a_dead_trainer_ends_the_run(self):
        process, _ = self.start_and_wait("none", 5, cora(training__epochs=400, runPolicy={"backoffLimit": 0}))
        self.assertTrue(random_kills.kill_child(self.dir / "none", "trainer-1"))
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 74, output)
        self.assertIn("trainer-1 ended with signal 9", output)

    def test_a_stop_saves_and_resume_continues(self):
        process, _ = self.start_and_wait("stopped", 33, cora())
        children = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, output)
        self.assertIn("saved up to epoch ", output)
        self.assertIn("--resume", output)
        for pid in children:
            self.assertFalse(is_alive(pid), f"process {pid} survived")

        refused = self.start(cora(), "stopped", "--access", "rpc")
        output, _ = refused.communicate(timeout=60)
        self.assertEqual(refused.returncode, 64, output)
        self.assertIn("of an unfinished run: continue it with --resume", output)

        result = self.run_job(cora(), "stopped", "--access", "rpc", "--resume")
        self.assertEqual(result["parametersDigest"], self.digest())
        self.assertEqual(result["incarnation"], 2)

    def test_a_killed_run_resumes_and_restart_starts_from_scratch(self):
        endless = cora(training__epochs=4000)
        process, _ = self.start_and_wait("killed", 40, endless)
        self.wait_for_checkpoint("killed", 30)
        children = children_of(process.pid)
        process.kill()
        process.communicate(timeout=30)
        deadline = time.monotonic() + 30
        while any(is_alive(pid) for pid in children):
            self.assertLess(time.monotonic(), deadline, "processes survived the run")
            time.sleep(0.02)
        process, watch = self.start_and_wait("killed", 1, endless, "--resume")
        self.assertGreaterEqual(watch.steps_done(), 30)  # it did not start from the beginning
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, output)
        self.assertIn("resuming from epoch ", output)

        result = self.run_job(cora(), "killed", "--access", "rpc", "--restart")
        self.assertEqual(result["parametersDigest"], self.digest())
        self.assertEqual(result["incarnation"], 3)

    def test_a_trainer_of_an_older_incarnation_is_refused(self):
        partitions = self.dir / "partitions"
        process = self.run_tool("espalier-partitioner", "--job", self.write_job(cora(graph__partitions={"count": 1})),
                                "--output", partitions, "--json")
        uri = json.loads(process.stdout)["uri"]
        ready = self.dir / "server.json"
        server = subprocess.Popen([BIN / "espalier-graph-server", "--partitions", uri, "--partition", "0",
                                   "--job-name", "scenario", "--incarnation", "2", "--ready-file", ready],
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        deadline = time.monotonic() + 60
        while not ready.exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        address = json.loads(ready.read_text())["address"]
        trainer = ["espalier-trainer", "--job", self.dir / "job.json", "--servers", address, "--access", "rpc"]
        stale = self.run_tool(*trainer, "--incarnation", "1", expect=74)
        self.assertIn("request from incarnation 1 of job 'scenario', which is now in incarnation 2", stale.stderr)
        self.run_tool(*trainer, "--incarnation", "2")
        self.run_tool(*trainer, "--incarnation", "1", "--job-name", "another")

    def run_tool(self, program, *args, expect=0):
        words = self.dir / "last-words.json"
        process = subprocess.run([BIN / program, *map(str, args)], capture_output=True, text=True, timeout=120,
                                 stdin=subprocess.DEVNULL, env={**os.environ, "ESPALIER_TERMINATION_LOG": str(words)})
        self.assertEqual(process.returncode, expect, process.stdout + process.stderr)
        self.assertEqual(json.loads(words.read_text())["exitCode"], expect)
        self.assertLessEqual(words.stat().st_size, 4096)
        return process
