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
KUEUE_LABEL = "app.kubernetes.io/name=kueue"  # of all objects of the release


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
    """Requests of Kueue to the cluster, with kubectl and this environment's kubeconfig."""

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
        """Removes the objects of the release; those of Kueue's kinds go with their definitions. Webhooks go first: without
        the manager they would refuse every change of its objects and every pod."""
        if not release.exists():
            return
        attempt(["kubectl", "delete", WEBHOOK_KINDS, "--selector", KUEUE_LABEL])
        definitions = run(["kubectl", "get", "customresourcedefinitions", "--selector", KUEUE_LABEL, "--output=name"]).split()
        for definition in definitions:
            self._drop_finalizers(definition.split("/")[1])
        run(["kubectl", "delete", "--filename", release, "--ignore-not-found", "--timeout=60s"], timeout=90)

    @staticmethod
    def _drop_finalizers(kind):
        """Removes the finalizers, which the manager removes from an object that is no longer used."""
        listed = json.loads(run(["kubectl", "get", kind, "--all-namespaces", "--output=json"]))["items"]
        for metadata in (one["metadata"] for one in listed if one["metadata"].get("finalizers")):
            where = ["--namespace", metadata["namespace"]] if "namespace" in metadata else []
            run(["kubectl", *where, "patch", kind, metadata["name"], "--type=merge", "--patch",
                 json.dumps({"metadata": {"finalizers": None}})])

    @staticmethod
    def _create(document, namespace=None):
        where = ["--namespace", namespace] if namespace else []
        done = attempt(["kubectl", *where, "create", "--filename", "-"], stdin=json.dumps(document))
        if done.returncode != 0:
            # kubectl does not print the status code; the API server answers with 500 while a webhook cannot be reached.
            raise ApiError(500 if "InternalError" in done.stderr else 400, {"message": done.stderr})
        return document

    @staticmethod
    def _get(kind, namespace, name):
        found = run(["kubectl", "--namespace", namespace, "get", kind, name, "--ignore-not-found", "--output=json"])
        return json.loads(found) if found else None
