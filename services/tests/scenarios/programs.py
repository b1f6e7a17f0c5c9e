"""Runs a user's program in place of trainers, and alone. The numbers are the same, whichever process is killed."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np

from harness import BIN, SOURCE, Scenario, espalier, job

PROGRAM = BIN / "espalier_example_training_loop"
EPOCHS = 100  # of twelve steps: training is still in progress when a process is killed at the first epoch
CLOSE = 9  # decimal places: sums over several ranks have another order than those of one rank
WITH_ROWS = BIN / "espalier_example_link_embeddings"
EPOCHS_WITH_ROWS = 16  # of seventy steps


class ProgramScenario(Scenario):
    """Runs of a program over self.graph, a folder of the format NPY."""

    def document(self, trainers=2, backoff=5, partitions=2):
        """A job without spec.training."""
        return {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "program"},
                "spec": {"graph": {"source": {"uri": str(self.graph), "format": "NPY"},
                                   "partitions": {"count": partitions, "algorithm": "METIS"}},
                         "trainers": {"replicas": trainers, "threads": 1}, "runPolicy": {"backoffLimit": backoff}}}

    def run_program(self, name, *program, document=None, flags=()):
        path = self.write_job(document or self.document(), name + ".json")
        return espalier("run", "-f", path, "--output", self.dir / name, *flags, "--", *program, timeout=240)

    def result(self, name):
        return json.loads((self.dir / name / "result.json").read_text())

    def begin_program(self, name, *program, saved, flags=()):
        """Starts a program and waits until it has saved this file for the first time."""
        path = self.write_job(self.document(), name + ".json")
        log = open(self.dir / f"{name}.log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        process = subprocess.Popen([str(BIN / "espalier"), "run", "-f", str(path), "--output", str(self.dir / name),
                                    *flags, "--", *map(str, program)], stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 200
        while not (self.dir / name / saved).exists():
            self.assertIsNone(process.poll(), pathlib.Path(log.name).read_text())
            self.assertLess(time.monotonic(), deadline, "no state was saved")
            time.sleep(0.005)
        return process, pathlib.Path(log.name)

    def pid_of(self, name, child):
        return json.loads((self.dir / name / "run/state.json").read_text())["processes"][child]


class Programs(ProgramScenario):
    undisturbed = None

    def setUp(self):
        super().setUp()
        self.graph = self.generate("--nodes", 6000, "--edges", 60000, "--features", 16, "--classes", 10, "--train",
                                   0.5, "--seed", 3)

    def digest(self):
        """Returns the digest of the weights of an undisturbed run with two ranks, computed once."""
        if Programs.undisturbed is None:
            Programs.undisturbed = self.finished("undisturbed")["weightsDigest"]
        return Programs.undisturbed

    def finished(self, name, *args, **kwargs):
        process = self.run_program(name, PROGRAM, EPOCHS, *args, **kwargs)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return self.result(name)

    def begin(self, name, *flags):
        """Starts the example and waits until it has saved its first state."""
        return self.begin_program(name, PROGRAM, EPOCHS, saved="training-loop.state", flags=flags)

    def alone(self, name, uri, **environment):
        """Runs the example alone, as a user does."""
        process = subprocess.run([str(PROGRAM), str(EPOCHS)], capture_output=True, text=True, timeout=240, check=False,
                                 env={**os.environ, "ESPALIER_PARTITIONS": str(uri), **environment})
        self.assertEqual(process.returncode, 0, process.stderr)
        return json.loads(process.stdout)

    def test_standalone_and_remote_give_the_same_numbers(self):
        served = self.finished("served", document=self.document(trainers=1))
        self.assertEqual(served["partitions"], 2)
        self.assertGreater(served["testAccuracy"], 0.3)  # of ten classes
        alone = self.alone("alone", served["partitionUri"])
        self.assertEqual(alone["weightsDigest"], served["weightsDigest"])
        by_rpc = self.finished("rpc", document=self.document(trainers=1, partitions=1), flags=("--access", "rpc"))
        self.assertEqual(by_rpc["weightsDigest"], served["weightsDigest"])
        two = self.finished("two")
        self.assertEqual(two["trainers"], 2)
        self.assertAlmostEqual(two["lastLoss"], served["lastLoss"], CLOSE)

    def test_a_standalone_trainer_gives_the_numbers_of_a_run(self):
        document = job(self.graph, training__epochs=2, training__inputs=[
            {"features": ["node-feat"], "embedding": {"size": 8}}])
        run = self.run_job(document, "run")
        process = subprocess.run([str(BIN / "espalier-trainer"), "--job", str(self.dir / "run/job.json"),
                                  "--partitions", run["partitionUri"], "--output", str(self.dir / "alone")],
                                 capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        alone = json.loads((self.dir / "alone/manifest.json").read_text())["result"]
        self.assertEqual(len(run["learnableRowsDigest"]), 64)
        for digest in ("parametersDigest", "learnableRowsDigest"):
            self.assertEqual(alone[digest], run[digest])

    def test_samplers_draw_its_batches(self):
        def document(samplers, batch_size=256):
            return job(self.graph, training__batchSize=batch_size, training__sampling={"layers": [{"fanout": 10}]},
                       samplers__replicas=samplers, trainers__replicas=2)

        here = self.finished("here", document=document(samplers=0))
        there = self.finished("there", document=document(samplers=2))
        self.assertEqual(there["samplers"], 2)
        self.assertEqual(there["weightsDigest"], here["weightsDigest"])
        self.assertEqual(there["lastLoss"], here["lastLoss"])
        # The samplers sample the batches, and reject batches that do not match their job.
        process = self.run_program("refused", PROGRAM, 1, document=document(samplers=2, batch_size=128))
        self.assertEqual(process.returncode, 65, process.stderr)
        self.assertIn("the stream has batch size 256, but this sampler's job has 128", process.stderr)

    def test_settings_alone_are_enough(self):
        graph = ["--set", f"graph.source.uri={self.graph}", "--set", "graph.source.format=NPY"]
        process = espalier("run", *graph, "--set", "graph.partitions.count=2", "--set", "trainers.replicas=2", "--output",
                           self.dir / "settings", "--", PROGRAM, EPOCHS, timeout=240)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assertEqual(self.result("settings")["weightsDigest"], self.digest())
        process = espalier("run", "--set", "graph.partitions.count=2", "--output", self.dir / "none", "--", PROGRAM)
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertRegex(process.stderr, "without --file: .*spec.graph.source: is missing")
        process = espalier("run", *graph, "--output", self.dir / "none")
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertIn("--file is required", process.stderr)

    def test_the_document_names_it(self):
        document = self.document()
        document["spec"]["trainers"]["program"] = {"command": [str(PROGRAM)], "args": [str(EPOCHS)]}
        process = espalier("run", "-f", self.write_job(document, "named.json"), "--output", self.dir / "named",
                           timeout=240)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        result = self.result("named")
        self.assertEqual(result["program"][1:], [str(EPOCHS)])
        self.assertEqual(result["weightsDigest"], self.digest())

    def test_a_rank_and_a_server_that_are_killed(self):
        process, log = self.begin("rank")
        os.kill(self.pid_of("rank", "trainer-1"), signal.SIGKILL)
        self.assertEqual(process.wait(200), 0, log.read_text())
        result = self.result("rank")
        self.assertEqual(result["restarts"]["trainers"], 1)
        self.assertEqual(result["weightsDigest"], self.digest())
        self.assertIn("trainer-1 was killed (signal 9); starting the program again on every rank", log.read_text())

        process, log = self.begin("server")
        os.kill(self.pid_of("server", "server-1"), signal.SIGKILL)
        self.assertEqual(process.wait(200), 0, log.read_text())
        result = self.result("server")
        self.assertEqual(result["restarts"]["services"], 1)
        self.assertEqual(result["weightsDigest"], self.digest())

    def test_a_stopped_run_resumes(self):
        process, log = self.begin("stopped")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(100), 75, log.read_text())
        self.assertIn("--resume -- ", log.read_text())
        result = self.finished("stopped", flags=("--resume",))
        self.assertEqual(result["weightsDigest"], self.digest())

    def test_under_tls(self):
        process, log = self.begin("tls", "--tls")
        self.assertEqual(process.wait(200), 0, log.read_text())
        self.assertEqual(self.result("tls")["weightsDigest"], self.digest())

    def test_exit_codes(self):
        # (shell command of the program, backoffLimit, exit code of the run, text in its error)
        cases = [("exit 65", 5, 65, "ended with exit code 65"), ("exit 3", 0, 70, "ended with exit code 3"),
                 ("kill -9 $$", 0, 74, "signal 9"), ("kill -SEGV $$", 0, 70, "signal 11")]
        for number, (script, backoff, code, words) in enumerate(cases):
            with self.subTest(script=script):
                process = self.run_program(f"code-{number}", "sh", "-c", script,
                                           document=self.document(backoff=backoff))
                self.assertEqual(process.returncode, code, process.stderr)
                self.assertIn(words, process.stderr)
                self.assertFalse((self.dir / f"code-{number}/result.json").exists())
        process = self.run_program("wrong", PROGRAM, "many")
        self.assertEqual(process.returncode, 65)
        self.assertIn("expected the number of epochs", process.stderr)
        process = self.run_program("nobody", "no-such-program-anywhere")
        self.assertEqual(process.returncode, 64)
        self.assertIn("is in no folder of PATH", process.stderr)


class ProgramsWithRows(ProgramScenario):
    """Tests a program with learnable rows, and with a tensor to which all ranks add, on the graph servers."""

    def setUp(self):
        super().setUp()
        self.graph = self.dir / "cora-links"
        subprocess.run([sys.executable, str(SOURCE / "services/examples/cora_links.py"), str(self.graph)], check=True,
                       timeout=120)

    def test_rows_of_a_killed_server_are_restored_from_the_last_save(self):
        process = self.run_program("undisturbed", WITH_ROWS, "links", EPOCHS_WITH_ROWS, flags=("--access", "rpc"))
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        undisturbed = self.result("undisturbed")
        self.assertEqual(len(undisturbed["losses"]), EPOCHS_WITH_ROWS)
        self.assertLess(undisturbed["losses"][-1], undisturbed["losses"][0])
        num_links = len(np.load(self.graph / "train.npy"))
        self.assertEqual(undisturbed["endsCounted"], 2 * EPOCHS_WITH_ROWS * num_links)
        self.assertEqual(undisturbed["restarts"], {"trainers": 0, "services": 0})

        saved = "link-embeddings/epochs-1001/manifest.json"
        process, log = self.begin_program("server", WITH_ROWS, "links", EPOCHS_WITH_ROWS, saved=saved,
                                          flags=("--access", "rpc"))
        os.kill(self.pid_of("server", "server-1"), signal.SIGKILL)
        first_save = (self.dir / "server" / saved).read_text()
        self.assertEqual(process.wait(200), 0, log.read_text())
        result = self.result("server")
        self.assertEqual(result["losses"], undisturbed["losses"])
        self.assertEqual(result["rowsDigest"], undisturbed["rowsDigest"])
        self.assertEqual(result["endsCounted"], undisturbed["endsCounted"])
        self.assertEqual(result["restarts"], {"trainers": 1, "services": 1})
        self.assertEqual(result["incarnation"], undisturbed["incarnation"] + 1)
        # Every save writes new files. The first save is unchanged, so the program has resumed from it.
        self.assertEqual((self.dir / "server" / saved).read_text(), first_save)
        logs = "".join(file.read_text() for file in (self.dir / "server/logs").glob("trainer-*"))
        self.assertRegex(logs, "lost the rows of an embedding|rows of a tensor are lost")

    def test_unknown_arguments_and_splits(self):
        for arguments, words in ((("links", "many"), "expected SPLIT EPOCHS"), (("no-such-split", 1), "no-such-split")):
            with self.subTest(arguments=arguments):
                process = self.run_program("-".join(map(str, arguments)), WITH_ROWS, *arguments)
                self.assertEqual(process.returncode, 65, process.stderr)
                self.assertIn(words, process.stderr)
