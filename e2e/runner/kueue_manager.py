"""Kueue's manager as a process beside the API server of e2e/cluster, with the objects of its release."""

import contextlib
import json
import os
import pathlib
import tempfile
import types

from control_plane.api import ApiError
from control_plane.kueue import Kueue
from runner.commands import attempt, run

WEBHOOK_KINDS = "validatingwebhookconfigurations,mutatingwebhookconfigurations"


@contextlib.contextmanager
def kueue_manager():
    """A block in which Kueue runs. After it the cluster has none of its objects."""
    with tempfile.TemporaryDirectory(prefix="espalier-kueue-") as temporary:
        cluster = _Cluster(pathlib.Path(temporary))
        kueue = Kueue(cluster)
        try:
            with kueue:
                yield kueue
        finally:
            cluster.delete(kueue.folder / "release.yaml")


class _Cluster:
    """What Kueue asks of the cluster, with kubectl and this environment's kubeconfig."""

    def __init__(self, folder):
        self.folder = folder
        self.api = types.SimpleNamespace(create=self._create, get=self._get)

    def kubeconfig(self, _):
        return os.environ["KUBECONFIG"]

    def kubectl(self, *arguments):
        return attempt(["kubectl", *arguments])

    def apply(self, file):
        run(["kubectl", "apply", "--server-side", "--filename", file])

    def delete(self, release):
        """Objects of Kueue's kinds go with their definitions. Without its process, its webhooks would refuse every pod."""
        # The finalizers of a queue wait for the manager.
        for kind in ("workloads", "localqueues", "clusterqueues", "resourceflavors"):
            for name in attempt(["kubectl", "get", f"{kind}.kueue.x-k8s.io", "--all-namespaces", "--output="
                                 "jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{' '}{end}"]).stdout.split():
                namespace, name = name.split("/")
                where = ["--namespace", namespace] if namespace else []
                attempt(["kubectl", *where, "patch", f"{kind}.kueue.x-k8s.io", name, "--type=merge", "--patch",
                         json.dumps({"metadata": {"finalizers": None}})])
        attempt(["kubectl", "delete", WEBHOOK_KINDS, "--selector", "app.kubernetes.io/name=kueue"])
        if release.exists():
            run(["kubectl", "delete", "--filename", release, "--ignore-not-found", "--wait=false"])

    @staticmethod
    def _create(document, namespace=None):
        where = ["--namespace", namespace] if namespace else []
        done = attempt(["kubectl", *where, "create", "--filename", "-"], stdin=json.dumps(document))
        if done.returncode != 0:
            # kubectl does not print the status code; the API server answers with 500 while a webhook cannot be reached.
            raise ApiError(500 if "InternalError" in done.stderr else 400, {"message": done.stderr})

    @staticmethod
    def _get(kind, namespace, name):
        found = run(["kubectl", "--namespace", namespace, "get", kind, name, "--ignore-not-found", "--output=json"])
        return json.loads(found) if found else None
