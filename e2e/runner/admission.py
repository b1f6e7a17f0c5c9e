"""Somebody's admission webhook that stands in the way of one job's status. Needs a cluster of e2e/cluster, whose API
server has the same loopback as the story."""

import json
import socket

from runner.commands import run

ANSWER_SECONDS = 25  # that the API server waits for


class Webhook:
    """Takes connections and says nothing; after `refuse` it takes none. After the `with` block nobody asks it."""

    def __init__(self, namespace, job):
        self._name = f"{namespace.name}-{job}"
        self._namespace = namespace.name
        self._job = job

    def __enter__(self):
        # Whoever connects is in the queue of the kernel, and nobody takes him out of it.
        self._listener = socket.create_server(("127.0.0.1", 0))
        try:
            self._register(self._listener.getsockname()[1])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._listener.close()
        run(["kubectl", "delete", "validatingwebhookconfiguration", self._name, "--ignore-not-found"])

    def refuse(self):
        self._listener.close()

    def _register(self, port):
        run(["kubectl", "apply", "--filename", "-"], stdin=json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self._name}, "webhooks": [{
                "name": "status.e2e.espalier.io", "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
                "rules": [{"apiGroups": ["espalier.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
                           "resources": ["disttrainings/status"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
                "matchConditions": [{"name": "one-job", "expression": f"request.name == '{self._job}'"}],
                "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "timeoutSeconds": ANSWER_SECONDS}]}))
