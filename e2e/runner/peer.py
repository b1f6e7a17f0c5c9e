"""A client of a pod's gRPC port with any certificate: curl, which does not verify the server."""

import base64
import contextlib
import pathlib
import re
import subprocess
import tempfile
import threading

from runner.commands import Failure, attempt

FORWARD_SECONDS = 20
CALL_SECONDS = 15
HEALTH = "/grpc.health.v1.Health/Check"
EMPTY_MESSAGE = bytes(5)  # a frame of no bytes


class Certificate:
    """A certificate and its key from one of the operator's Secrets. It can be used after the Secret is deleted."""

    def __init__(self, secret):
        self.certificate = base64.b64decode(secret["data"]["tls.crt"])
        self.key = base64.b64decode(secret["data"]["tls.key"])


def trainers_certificate(namespace, job):
    """Returns None if the operator has not created the Secret yet."""
    secrets = [secret for secret in namespace.objects("secrets", job)
               if secret["metadata"]["name"] == f"{job}-tls-trainer"]
    return Certificate(secrets[0]) if secrets else None


class Answer:
    def __init__(self, done):
        self.is_refused = done.returncode != 0
        self.is_served = not self.is_refused and re.search(r"^grpc-status: 0\s*$", done.stdout, re.MULTILINE) is not None
        # The server's certificate: PEM.
        self.certificate = done.stdout.partition("-----BEGIN CERTIFICATE-----")[2].partition("-----END")[0]
        self.text = f"curl's exit status {done.returncode}: {done.stdout[:300]} {done.stderr[-300:]}"


def ask(namespace, pod, port, certificate=None, method=HEALTH):
    """Returns the response to an empty message: of a health check, which every role of the job may call, or of another
    method."""
    with (tempfile.TemporaryDirectory(prefix="espalier-e2e-peer-") as folder,
          _forwarded(namespace, pod, port) as address):
        (pathlib.Path(folder) / "request").write_bytes(EMPTY_MESSAGE)
        command = ["curl", "--silent", "--show-error", "--insecure", "--http2", "--max-time", str(CALL_SECONDS),
                   "--header", "content-type: application/grpc", "--header", "te: trailers", "--dump-header", "-",
                   "--data-binary", f"@{folder}/request", "--output", "/dev/null", "--write-out", "%{certs}"]
        if certificate:
            for name, content in (("cert", certificate.certificate), ("key", certificate.key)):
                path = pathlib.Path(folder) / name
                path.touch(mode=0o600)
                path.write_bytes(content)
                command += [f"--{name}", path]
        return Answer(attempt([*command, f"https://{address}{method}"], timeout=CALL_SECONDS + 10))


@contextlib.contextmanager
def _forwarded(namespace, pod, port):
    """A port-forward to a pod, new for each call: kubectl ends it when the pod closes a connection."""
    process = subprocess.Popen(["kubectl", "--namespace", namespace.name, "port-forward", f"pod/{pod}", f":{port}"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    overdue = threading.Timer(FORWARD_SECONDS, process.kill)
    overdue.start()
    try:
        said = process.stdout.readline()
        overdue.cancel()
        found = re.match(r"Forwarding from (127\.0\.0\.1:\d+)", said)
        if not found:
            raise Failure(f"port {port} of {pod} cannot be reached: {said}")
        yield found.group(1)
    finally:
        overdue.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
