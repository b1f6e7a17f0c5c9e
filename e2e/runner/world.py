"""What a scenario has at hand: a namespace, the bucket, the chart, and the result of a run that nobody disturbed."""

import contextlib
import hashlib
import json
import os
import pathlib
import time

from runner import chart
from runner.commands import Failure, run, wait_for
from runner.namespace import LABEL, Namespace

CLUSTER = pathlib.Path(__file__).resolve().parents[1] / "cluster"


class World:
    def __init__(self, bucket, run_id):
        self.bucket = bucket
        self.chart = chart
        self.namespace = None
        self._run_id = run_id
        self._deadline = None
        self._scenario = None
        self._undisturbed = {}

    def begin(self, scenario, seconds):
        self._scenario = scenario
        self._deadline = time.monotonic() + seconds
        self.namespace = Namespace(f"e2e-{scenario.replace('_', '-')}-{self._run_id}", self.bucket)
        self.namespace.create()
        self.namespace.create_bucket_secret()

    def end(self):
        self.namespace.delete()

    def wait_until_gone(self):
        """Until no namespace of this run is left."""
        def left():
            listed = json.loads(run(["kubectl", "get", "namespaces", "--selector", LABEL, "--output=json"]))["items"]
            return [entry["metadata"]["name"] for entry in listed if entry["metadata"]["name"].endswith(self._run_id)]

        wait_for("the end of all namespaces of this run", 120, lambda: not left(), lambda: ", ".join(left()))

    def note(self, text):
        print(f"   {text}", flush=True)

    def check_time(self):
        if time.monotonic() > self._deadline:
            raise Failure(f"{self._scenario} took longer than it may")

    @contextlib.contextmanager
    def failed_node(self, node):
        """A time in which a node's machine is off. It is on again afterwards, whatever happens."""
        self.note(f"{node} fails")
        self._node("kill-node", node)
        try:
            yield
        finally:
            self._node("start-node", node)
            self.note(f"{node} is back")

    def _node(self, command, node):
        run([CLUSTER, command, "--name", os.environ["ESPALIER_E2E_CLUSTER"], node], timeout=180)

    def undisturbed_models(self, manifest, job="cora"):
        """Namespace.models of the manifest's job when nothing happens to it; run once for all scenarios that ask."""
        key = hashlib.sha256(manifest.read_bytes()).hexdigest()
        if key not in self._undisturbed:
            calm = Namespace(f"e2e-calm-{key[:6]}-{self._run_id}", self.bucket)
            calm.create()
            try:
                calm.create_bucket_secret()
                calm.apply(manifest)
                calm.wait_for_phase(job, "Succeeded", 240)
                self._undisturbed[key] = calm.models(job)
            finally:
                calm.delete()
        return self._undisturbed[key]
