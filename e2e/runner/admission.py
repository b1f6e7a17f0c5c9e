"""Admission webhooks: one that blocks the status of one job, and one that changes what is created in a namespace. Needs
a cluster of e2e/cluster, whose API server has the same loopback as the scenario."""

import base64
import contextlib
import http.server
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
    """Accepts requests and never responds; after `refuse` it accepts no connection. After the `with` block the API server
    does not call it."""

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


class Mutation:
    """A mutating webhook for a namespace. `patch_of(object)` returns a JSON patch for an object that is created, a list
    that may be empty. The API server does not call it after the `with` block."""

    def __init__(self, namespace, resources, patch_of):
        """`resources`: [(group, plural)]."""
        self._namespace = namespace.name
        self._resources = resources
        self._patch_of = patch_of

    def __enter__(self):
        context, certificate = _identity()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True,
                                                  do_handshake_on_connect=False)  # by the connection's own thread
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        try:
            self._register(self._server.server_address[1], certificate)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        run(["kubectl", "delete", "mutatingwebhookconfiguration", self._namespace, "--ignore-not-found"])
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self):
        patch_of = self._patch_of

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = ANSWER_SECONDS

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                response = {"uid": request["uid"], "allowed": True}
                if patch := patch_of(request["object"]):
                    response.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(patch).encode()).decode())
                body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                                   "response": response}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def _register(self, port, certificate):
        run(["kubectl", "apply", "--filename", "-"], stdin=json.dumps({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self._namespace}, "webhooks": [{
                "name": "mutation.e2e.espalier.io",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/",
                                 "caBundle": base64.b64encode(certificate).decode()},
                "rules": [{"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"],
                           "resources": [plural]} for group, plural in self._resources],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
                "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "timeoutSeconds": ANSWER_SECONDS}]}))


class Silence:
    """A port that completes TLS handshakes and never responds. (The API server would give up after ten seconds without a
    handshake.)"""

    def __init__(self, context):
        self._context = context
        self._connections = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def end(self):
        """Closes all connections and the port. A second call does nothing."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
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
            with contextlib.suppress(OSError):  # the client has closed the connection
                self._connections.append(self._context.wrap_socket(connection, server_side=True))


def _identity():
    """Returns a server's SSL context for 127.0.0.1, and its self-signed certificate in PEM."""
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-webhook-") as name:
        folder = pathlib.Path(name)
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
             "-subj", "/CN=webhook of the scenario", "-addext", "subjectAltName = IP:127.0.0.1",
             "-keyout", folder / "key", "-out", folder / "certificate"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "certificate", folder / "key")
        return context, (folder / "certificate").read_bytes()
