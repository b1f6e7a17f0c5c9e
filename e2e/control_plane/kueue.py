"""Kueue's manager as a process beside a control plane, with the objects of its release: CRDs, roles, webhooks."""

import base64
import json
import os
import pathlib
import re
import urllib.error
import urllib.request

from .api import ApiError
from .processes import Program, free_port, wait_until

SYSTEM_NAMESPACE = "kueue-system"
WEBHOOK_SERVICE = "kueue-webhook-service"
CERTIFICATE_SECRET = "kueue-webhook-server-cert"
READY_SECONDS = 90
# Not applied: the manager is a process of this machine, which serves no API of its own and has its own Service.
LEFT_OUT = ("Deployment", "APIService", "Service")


def tools_folder():
    folder = os.environ.get("ESPALIER_KUEUE")
    if not folder:
        raise SystemExit("ESPALIER_KUEUE is not a folder: set it to the output of e2e/tools/build.sh kueue")
    return pathlib.Path(folder)


class Kueue:
    """Starts the manager, and ends it on exit. `frameworks`: the integrations that it enables."""

    def __init__(self, plane, frameworks=("batch/job", "pod", "statefulset", "deployment")):
        self.plane = plane
        self.frameworks = list(frameworks)
        self.folder = plane.folder / "kueue"
        self.certificates = self.folder / "certificates"
        self.program = None

    def __enter__(self):
        self.tools = tools_folder()
        self.certificates.mkdir(parents=True)
        self.webhook_port = free_port()
        self.health_port = free_port()
        self._apply_release()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.program:
            self.program.stop()

    def restart(self):
        """Kills the manager and starts it again."""
        self.program.kill()
        self._start()

    def create(self, document, namespace=None):
        """Creates an object of Kueue's kinds. The API server calls the webhooks a moment after it has read their certificate."""
        def created():
            try:
                return self.plane.api.create(document, namespace)
            except ApiError as error:
                if error.code < 500:
                    raise
                return None
        wait_until(created, READY_SECONDS, f"{document['kind']} {document['metadata']['name']} is accepted", every=0.5)

    def _apply_release(self):
        rendered = self.plane.kubectl("kustomize", str(self.tools / "config" / "default"))
        if rendered.returncode != 0:
            raise RuntimeError(f"kubectl kustomize: {rendered.stderr}")
        kept = [document for document in rendered.stdout.split("\n---\n")
                if re.search(r"^kind: (\S+)$", document, re.MULTILINE).group(1) not in LEFT_OUT]
        # The references of webhooks and conversions; indented, unlike the name of an object.
        text = re.sub(rf"^( {{4,}})name: {WEBHOOK_SERVICE}$", rf"\g<0>\n\g<1>port: {self.webhook_port}", "\n---\n".join(kept),
                      flags=re.MULTILINE)
        file = self.folder / "release.yaml"
        file.write_text(text)
        self.plane.apply(file)
        # The API server connects to this name and expects the Service's name in the certificate.
        self.plane.api.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": WEBHOOK_SERVICE},
                               "spec": {"type": "ExternalName", "externalName": "localhost"}}, SYSTEM_NAMESPACE)

    def _start(self):
        config = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": SYSTEM_NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.health_port}"}, "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": self.webhook_port, "certDir": str(self.certificates)},
            "leaderElection": {"leaderElect": False}, "manageJobsWithoutQueueName": False,
            "internalCertManagement": {"enable": True, "webhookServiceName": WEBHOOK_SERVICE,
                                       "webhookSecretName": CERTIFICATE_SECRET},
            "integrations": {"frameworks": self.frameworks}}
        file = self.folder / "config.json"
        file.write_text(json.dumps(config))
        self.program = Program(
            [str(self.tools / "kueue"), f"--config={file}", f"--kubeconfig={self.plane.kubeconfig('kueue')}",
             "--feature-gates=VisibilityOnDemand=false", "--zap-log-level=2"], str(self.plane.folder / "kueue.log"))
        self._mount_certificates()
        wait_until(self._is_ready, READY_SECONDS, "Kueue is ready")

    def _mount_certificates(self):
        """Kueue writes its certificates to a Secret, which a kubelet would mount."""
        def data():
            self._check_running()
            secret = self.plane.api.get("Secret", SYSTEM_NAMESPACE, CERTIFICATE_SECRET) or {}
            return secret.get("data") if "tls.crt" in secret.get("data", {}) else None
        for name, content in wait_until(data, READY_SECONDS, "Kueue has made its certificates").items():
            (self.certificates / name).write_bytes(base64.b64decode(content))

    def _is_ready(self):
        self._check_running()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def _check_running(self):
        if not self.program.is_running():
            raise RuntimeError("kueue has ended:\n" + self.program.last_lines())
