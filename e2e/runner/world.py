"""The environment of a scenario: a namespace, the bucket, the chart, machines, and the results of a job without faults."""

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

# The job of most scenarios.
CORA = pathlib.Path(__file__).resolve().parents[1] / "scenarios/cora.yaml"
# Its epochs in scenarios that do not wait for the end of the job: the maximum.
ENDLESS = "1000000"
# How much a metric, such as the accuracy, may differ between processor models.
NEAR = 0.02


class World:
    def __init__(self, bucket, reports):
        self.bucket = bucket
        self._reports = reports
        self.chart = chart
        self.machines = Machines(self.note, self.kept_evidence)
        self.namespace = None
        self.figures = {}  # measurements of the running scenario: {name: seconds}
        self._run_id = None
        self._deadline = None
        self._scenario = None
        self._undisturbed = None
        self._deletion = None  # the thread that deletes the previous scenario's namespace
        self._kept_logs = None  # of this scenario's pods

    def begin_round(self):
        """Chooses new names of namespaces, so that a round does not find partitions or outputs of the previous one."""
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
        """Starts the deletion of the namespace, which continues during the next scenario, after the previous deletion."""
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
        """Waits until all namespaces of this round are deleted."""
        self._wait_for_deletion()

        def left():
            listed = json.loads(run(["kubectl", "get", "namespaces", "--selector", LABEL, "--output=json"]))["items"]
            return [entry["metadata"]["name"] for entry in listed if entry["metadata"]["name"].endswith(self._run_id)]

        # Longer than half of a trainer's grace (Namespace.delete).
        wait_for("the end of all namespaces of this round", 240, lambda: not left(), lambda: ", ".join(left()))

    def note(self, text):
        print(f"   {text}", flush=True)

    def figure(self, name, seconds):
        """Prints and records a time that a scenario measures, besides its total time."""
        self.note(f"{name}: {seconds:.1f} s")
        self.figures[name] = round(seconds, 1)

    @contextlib.contextmanager
    def kept_evidence(self, moment):
        """A block whose failure is reported at once, in addition to the report at the end of the scenario. It is for blocks
        that a cleanup follows."""
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
        """Returns the Prometheus of a cluster of e2e/cluster, which scrapes the targets of the chart's monitors."""
        return Prometheus(os.environ["ESPALIER_E2E_PROMETHEUS"])

    def node_of_a(self, role):
        """Returns a node with a pod of this role of the job "cora", if possible one without an operator pod."""
        nodes = sorted({pod["spec"]["nodeName"] for pod in self.namespace.pods("cora", role).values()})
        of_operator = self.chart.operator_nodes()
        return next((node for node in nodes if node not in of_operator), nodes[0])

    def train_undisturbed(self):
        """Runs cora.yaml unchanged and without faults, unless this was done before."""
        self._undisturbed_run()

    def undisturbed_losses(self):
        """Returns the loss of each epoch of the run without faults."""
        return self._undisturbed_run()["lossPerEpoch"]

    def expect_as_undisturbed(self, job):
        """Fails unless a job of cora.yaml has ended with the same parameters as the run without faults. On a cluster that
        is not of e2e/cluster, compares the accuracy instead."""
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
        """Compares two results of a job, on the cluster and on this machine. On a cluster of e2e/cluster, which has the same
        processor, the fields `same` and `near` must be equal; elsewhere the field `near` may differ by NEAR."""
        if self.is_own_cluster():
            different = {field: (there[field], here[field]) for field in (*same, near) if there[field] != here[field]}
        else:
            is_near = abs(there[near] - here[near]) <= NEAR  # which NaN is not
            different = {} if is_near else {near: (there[near], here[near])}
        if different:
            raise Failure(f"results differ: {different}")

    def _undisturbed_run(self):
        """Returns the results of the run without faults. On a cluster of e2e/cluster, the bucket keeps them for the next
        e2e/run."""
        kept = f"e2e-undisturbed/{self._digest_of_cora()}.json"
        # On other clusters, a bucket may outlive the images, and a tag may later name other images.
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
        """Returns whether the cluster is one of e2e/cluster. On another cluster, pods may run on processors with other
        results in the last bits."""
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
                    run_in_image.begin(calm, "alone", CORA)  # at the same time: each leaves processors idle while it waits
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
        """Fails unless `espalier run` in the trainer image ends with the same parameters as the job on the cluster."""
        alone = run_in_image.result(calm, "alone", 300)
        digests = [one["parametersDigest"] for one in (on_the_cluster, alone)]
        if digests[0] != digests[1]:
            raise Failure(f"cora.yaml ends with the parameters {digests[0]} on the cluster, and with {digests[1]} by "
                          "`espalier run` in the trainer image")
