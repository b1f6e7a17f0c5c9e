"""What a scenario has at hand: a namespace, the bucket, the chart, machines, and results that nobody disturbed."""

import contextlib
import hashlib
import json
import math
import os
import pathlib
import secrets
import shutil
import threading
import time

from observability.prometheus import Prometheus
from runner import chart, report, run_in_image
from runner.cluster_logs import KeptPodLogs
from runner.commands import Failure, end_waits_at, run, wait_for
from runner.machines import Machines
from runner.namespace import LABEL, OF_CORA, Namespace

# The job of most stories.
CORA = pathlib.Path(__file__).resolve().parents[1] / "scenarios/cora.yaml"
# Its epochs where nobody waits for their end: as many as a document may ask for.
ENDLESS = "1000000"
# How much an accuracy or the like may differ between kinds of processors.
NEAR = 0.02


class World:
    def __init__(self, bucket, reports):
        self.bucket = bucket
        self._reports = reports
        self.chart = chart
        self.machines = Machines(self.note, self.kept_evidence)
        self.namespace = None
        self.figures = {}  # of the scenario that is told: a name, and seconds
        self._run_id = None
        self._deadline = None
        self._scenario = None
        self._undisturbed = None
        self._deletion = None  # of the namespace of the story before
        self._kept_logs = None  # of this story's pods

    def begin_round(self):
        """Scenarios get names that none had before: a second round finds no partitions and outputs of the first."""
        self._run_id = secrets.token_hex(3)

    def begin(self, scenario, seconds):
        self._scenario = scenario
        self.figures = {}
        self._deadline = time.monotonic() + seconds
        end_waits_at(self._deadline)
        self.namespace = Namespace(f"e2e-{scenario.replace('_', '-')}-{self._run_id}", self.bucket)
        if self.is_own_cluster():
            self._kept_logs = KeptPodLogs.of_this_cluster(self.namespace.name)
            self._kept_logs.start()
        self.namespace.create()
        self.namespace.create_bucket_secret()

    def end(self):
        """The namespace goes while the next story is told; not more than one does."""
        end_waits_at(math.inf)
        if self._kept_logs is not None:
            self._kept_logs.end()
            self._kept_logs = None
        self._wait_for_deletion()
        self._deletion = threading.Thread(target=self.namespace.delete)
        self._deletion.start()

    def _wait_for_deletion(self):
        if self._deletion is not None:
            self._deletion.join()
        self._deletion = None

    def wait_until_gone(self):
        """Until no namespace of this round is left."""
        self._wait_for_deletion()

        def left():
            listed = json.loads(run(["kubectl", "get", "namespaces", "--selector", LABEL, "--output=json"]))["items"]
            return [entry["metadata"]["name"] for entry in listed if entry["metadata"]["name"].endswith(self._run_id)]

        # Longer than half of a trainer's grace (Namespace.delete).
        wait_for("the end of all namespaces of this round", 240, lambda: not left(), lambda: ", ".join(left()))

    def note(self, text):
        print(f"   {text}", flush=True)

    def figure(self, name, seconds):
        """Something that a scenario measures besides its own time: said, and kept with it."""
        self.note(f"{name}: {seconds:.1f} s")
        self.figures[name] = round(seconds, 1)

    @contextlib.contextmanager
    def kept_evidence(self, moment):
        """What is there when the block fails is reported, beside what the scenario leaves at its end: for blocks whose
        failure is followed by a cleaning up."""
        with self._reported(self._reports / self._scenario / moment, self.namespace):
            yield

    @contextlib.contextmanager
    def _reported(self, folder, namespace):
        try:
            yield
        except Exception:
            report.write(folder, namespace.name)
            self.note(f"what was there then lies in {folder}")
            raise

    def check_time(self):
        if time.monotonic() > self._deadline:
            raise Failure(f"{self._scenario} took longer than it may")

    @property
    def prometheus(self):
        """That of a cluster of e2e/cluster, which scrapes what the chart's monitors name."""
        return Prometheus(os.environ["ESPALIER_E2E_PROMETHEUS"])

    def node_of_a(self, role):
        """A node with a pod of that role of Cora. Not the operator's, if there is another: it is about the job."""
        nodes = sorted({pod["spec"]["nodeName"] for pod in self.namespace.pods("cora", role).values()})
        of_operator = self.chart.operator_nodes()
        return next((node for node in nodes if node not in of_operator), nodes[0])

    def train_undisturbed(self):
        """cora.yaml as it stands, when nothing happens to it: before anything happens to another one."""
        self._undisturbed_run()

    def undisturbed_losses(self):
        """The loss of each of its epochs."""
        return self._undisturbed_run()["lossPerEpoch"]

    def expect_as_undisturbed(self, job):
        """That a job of cora.yaml has ended with the same parameters; on another cluster than one of e2e/cluster, with the
        same accuracy."""
        wanted = self._undisturbed_run()
        if self.is_own_cluster():
            found, expected = self.namespace.models(job), wanted["models"]
            is_as_wanted = found == expected
        else:
            found, expected = self.namespace.result(job)["testAccuracy"], wanted["testAccuracy"]
            is_as_wanted = abs(found - expected) <= NEAR
        if not is_as_wanted:
            raise Failure(f"{job} ended with {found}, expected {expected}, as of the undisturbed one")

    def expect_as_here(self, there, here, same, near):
        """That two results of a job, on the cluster and on this machine, have the `same` fields where both have one kind of
        processor. Elsewhere, that the field `near` hardly differs."""
        if self.is_own_cluster():
            different = {field: (there[field], here[field]) for field in (*same, near) if there[field] != here[field]}
        else:
            is_near = abs(there[near] - here[near]) <= NEAR  # which NaN is not
            different = {} if is_near else {near: (there[near], here[near])}
        if different:
            raise Failure(f"not the same there and here: {different}")

    def _undisturbed_run(self):
        """It takes place once: the next e2e/run on the same cluster of e2e/cluster finds in the bucket what came of it."""
        kept = f"e2e-undisturbed/{self._digest_of_cora()}.json"
        # Elsewhere buckets outlive images, and a tag may come to mean others.
        is_kept = self.is_own_cluster()
        if self._undisturbed is None and is_kept and self.bucket.keys(kept):
            self._undisturbed = self.bucket.json(kept)
        if self._undisturbed is None:
            self._undisturbed = self._train_undisturbed()
            if is_kept:
                self.bucket.put_json(kept, self._undisturbed)
        return self._undisturbed

    @staticmethod
    def is_own_cluster():
        """Whether it is one of e2e/cluster. On another one a pod may meet another kind of processor, and make other bits."""
        return "ESPALIER_E2E_CLUSTER" in os.environ

    @staticmethod
    def _digest_of_cora():
        made_of = CORA.read_bytes() + json.dumps(OF_CORA).encode() + os.environ["ESPALIER_E2E_TAG"].encode()
        return hashlib.sha256(made_of).hexdigest()[:16]

    def _train_undisturbed(self):
        calm = Namespace(f"e2e-undisturbed-{self._run_id}", self.bucket)
        folder = self._reports / "undisturbed"
        shutil.rmtree(folder, ignore_errors=True)
        begin = time.monotonic()
        calm.create()
        try:
            with self._reported(folder, calm):
                calm.create_bucket_secret()
                calm.apply(CORA)
                if self.is_own_cluster():
                    run_in_image.begin(calm, "alone", CORA)  # beside it: each leaves processors idle while it waits
                calm.wait_for_phase("cora", "Succeeded", 600)
                models, result = calm.models("cora"), calm.result("cora")
                if self.is_own_cluster():
                    self._expect_the_same_of_one_pod(calm, result)
        finally:
            calm.delete()
        self.note(f"undisturbed, in {time.monotonic() - begin:.0f} s: {models}")
        return {"models": models, "lossPerEpoch": result["lossPerEpoch"], "testAccuracy": result["testAccuracy"]}

    @staticmethod
    def _expect_the_same_of_one_pod(calm, on_the_cluster):
        """`espalier run` in the trainer image ends with the parameters of the job on the cluster: those of every job that
        ends as the undisturbed one."""
        alone = run_in_image.result(calm, "alone", 300)
        digests = [one["parametersDigest"] for one in (on_the_cluster, alone)]
        if digests[0] != digests[1]:
            raise Failure(f"cora.yaml ends with the parameters {digests[0]} on the cluster, and with {digests[1]} by "
                          "`espalier run` in the trainer image")
