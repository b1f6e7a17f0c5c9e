"""Somebody's admission webhook that stands in the way of one job's status. Needs a cluster of e2e/cluster, whose API
server has the same loopback as the story."""

import base64
import contextlib
import json
import pathlib
import socket
import ssl
import tempfile
import threading

from runner.commands import run

ANSWER_SECONDS = 25  # that the API server waits for
HANDSHAKE_SECONDS = 10


class Webhook:
    """Takes requests and says nothing; after `refuse` it takes no connection. After the `with` block nobody asks it."""

    def __init__(self, namespace, job):
        self._name = f"{namespace.name}-{job}"
        self._namespace = namespace.name
        self._job = job

    def __enter__(self):
        context, certificate = _identity()
        self._silence = Silence(context)
        try:
            self._register(self._silence.port, certificate)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._silence.end()
        run(["kubectl", "delete", "validatingwebhookconfiguration", self._name, "--ignore-not-found"])

    def refuse(self):
        self._silence.end()

    def _register(self, port, certificate):
        run(["kubectl", "apply", "--filename", "-"], stdin=json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self._name}, "webhooks": [{
                "name": "status.e2e.espalier.io",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/",
                                 "caBundle": base64.b64encode(certificate).decode()},
                "rules": [{"apiGroups": ["espalier.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
                           "resources": ["disttrainings/status"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
                "matchConditions": [{"name": "one-job", "expression": f"request.name == '{self._job}'"}],
                "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "timeoutSeconds": ANSWER_SECONDS}]}))


class Silence:
    """A port that speaks TLS, for whoever gets no handshake gives up after ten seconds, and beyond that nothing."""

    def __init__(self, context):
        self._context = context
        self._connections = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def end(self):
        """Every connection is closed, and there is no port any more. The second time it does nothing."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # what wakes the thread
        self._thread.join()
        self._listener.close()
        while self._connections:
            self._connections.pop().close()

    def _take(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(HANDSHAKE_SECONDS)
            with contextlib.suppress(OSError):  # somebody who went away
                self._connections.append(self._context.wrap_socket(connection, server_side=True))


def _identity():
    """For 127.0.0.1: what a server needs, and the certificate in PEM, which is its own authority."""
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-webhook-") as name:
        folder = pathlib.Path(name)
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
             "-subj", "/CN=webhook of the story", "-addext", "subjectAltName = IP:127.0.0.1",
             "-keyout", folder / "key", "-out", folder / "certificate"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate", folder / "key")
        return context, (folder / "certificate").read_bytes()
