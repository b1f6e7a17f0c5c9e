"""etcd and kube-apiserver: on loopback, on free ports, with certificates and tokens of their own, all in one folder."""

import json
import os
import pathlib
import secrets
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

from .api import Api, ApiError
from .processes import Program, free_port, wait_until

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
START_SECONDS = 90  # on a machine with other work
STARTS = 3  # another process may take a free port before the server binds it
ADMIN = "admin"
# Users for operators, named as accounts of pods: the API server queues and counts their requests as those of a cluster's
# operator. ControlPlane.take_user hands each of them out once.
OPERATORS = tuple(f"system:serviceaccount:espalier-system:operator-{name}" for name in "abcdefghij")
# The operators alone: the requests of other users are many, and no test reads them.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": list(OPERATORS)}, {"level": "None"}]}


def tools_folder(variable="ESPALIER_KUBE_TOOLS", tools="kube"):
    folder = os.environ.get(variable)
    if not folder:
        raise SystemExit(f"{variable} is not a folder: set it to the output of e2e/tools/build.sh {tools}")
    return pathlib.Path(folder)


class ApiServer:
    """Owned by the main thread; `api` may be used by all. On exit it ends all programs that it started. `tools`: the folder of
    another Kubernetes; programs that it lacks are those of ESPALIER_KUBE_TOOLS. `gates`: the feature gates that are on.
    `apis`: the groups and versions that are served besides the default ones."""

    def __init__(self, folder, tools=None, gates=(), apis=()):
        self.folder = pathlib.Path(folder)
        self.tools = tools or tools_folder()
        self.gate_flags = ["--feature-gates=" + ",".join(f"{gate}=true" for gate in gates)] if gates else []
        self.api_flags = ["--runtime-config=" + ",".join(f"{api}=true" for api in apis)] if apis else []
        self.tokens = {user: secrets.token_hex(16)
                       for user in (ADMIN, "controller-manager", "scheduler", "kwok", "kueue", *OPERATORS)}
        self.programs = []
        self.api_server = None

    def __enter__(self):
        try:
            self._make_certificates()
            self._write_files()
            self._start_storage_and_server()
            self._complete()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            program.kill()

    @property
    def audit_log(self):
        return self.folder / "audit.log"

    def kubeconfig(self, user, port=None, namespace="default"):
        """Returns the kubeconfig file of `user`; `port`: a proxy's port instead of the server's. Thread-safe."""
        path = self.folder / f"{user.rsplit(':', 1)[-1]}-{port or self.port}-{namespace}.kubeconfig"
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user, "namespace": namespace}}],
            "clusters": [{"name": "e2e", "cluster": {"server": f"https://127.0.0.1:{port or self.port}",
                                                     "certificate-authority": "ca.crt"}}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}]}
        # Replaced atomically: the kubectl of another thread may be reading it.
        new = path.with_suffix(f".{threading.get_ident()}")
        new.write_text(json.dumps(config))
        return new.replace(path)

    def restart_api_server(self):
        """Kills the server and starts it on the same port. Returns (from, to), the time in which it was not ready."""
        began = time.time()
        self.programs.remove(self.api_server)
        self.api_server.kill()
        self.start_api_server()
        return began, time.time()

    def start_api_server(self):
        self._start_api_server()
        self._await_api_server()

    def compact_storage(self):
        """Compacts etcd: only the newest versions remain. Returns the revision."""
        revision = self._ask_etcd("range", {"key": "AA=="})["header"]["revision"]
        self._ask_etcd("compaction", {"revision": revision, "physical": True})
        return int(revision)

    def apply(self, file, *arguments):
        """Applies a file with kubectl's server-side apply."""
        done = self.kubectl("apply", "--server-side", "-f", file, *arguments)
        if done.returncode != 0:
            raise RuntimeError(f"applying {file}: {done.stderr}")

    def kubectl(self, *arguments, stdin=None):
        """Runs kubectl as the administrator. Returns the completed process, with its output as text."""
        feed = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        return subprocess.run([self.tools / "kubectl", f"--kubeconfig={self.kubeconfig(ADMIN)}", *arguments], text=True,
                              capture_output=True, timeout=60, **feed,
                              env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"})

    def _complete(self):
        """Starts what needs the API server; called once it is ready."""

    def _run(self, program, *flags):
        path = self.tools / program
        started = Program([str(path if path.exists() else tools_folder() / program), *flags], str(self.folder / f"{program}.log"))
        self.programs.append(started)
        return started

    def _make_certificates(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=60)
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        openssl("req", "-x509", *key, "-subj", "/CN=e2e-ca", "-keyout", "ca.key", "-out", "ca.crt")
        openssl("req", "-x509", *key, "-subj", "/CN=kube-apiserver", "-CA", "ca.crt", "-CAkey", "ca.key",
                "-addext", "basicConstraints=critical,CA:FALSE",
                "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc",
                "-keyout", "server.key", "-out", "server.crt")
        openssl("req", "-x509", *key, "-subj", "/CN=accounts", "-keyout", "accounts.key", "-out", "accounts.crt")

    def _write_files(self):
        (self.folder / "audit.json").write_text(json.dumps(AUDIT_POLICY))
        groups = {user: "system:serviceaccounts,system:serviceaccounts:espalier-system" for user in OPERATORS}
        rows = [f'{token},{user},{user},"{groups.get(user, "system:masters")}"'
                for user, token in self.tokens.items()]
        (self.folder / "tokens.csv").write_text("\n".join(rows) + "\n")

    def _start_storage_and_server(self):
        for attempt in range(STARTS):
            try:
                self.etcd_url = f"http://127.0.0.1:{free_port()}"
                self.port = free_port()
                etcd = self._run("etcd", f"--data-dir={self.folder}/etcd-{attempt}",
                                 f"--listen-client-urls={self.etcd_url}",
                                 f"--advertise-client-urls={self.etcd_url}", "--listen-peer-urls=http://127.0.0.1:0",
                                 "--unsafe-no-fsync", "--log-level=warn")
                wait_until(lambda: self._is_answering(etcd, f"{self.etcd_url}/health"), START_SECONDS, "etcd is ready")
                self.api = Api(self.port, self.folder / "ca.crt", self.tokens[ADMIN])
                return self.start_api_server()
            except (RuntimeError, TimeoutError):
                if attempt + 1 == STARTS:
                    raise
                self.__exit__()
                self.programs.clear()

    def _start_api_server(self):
        at = f"{self.folder}/"
        self.api_server = self._run(
            "kube-apiserver", *self.gate_flags, *self.api_flags, f"--etcd-servers={self.etcd_url}", "--bind-address=127.0.0.1",
            # Kubernetes 1.37 allows no loopback address in the endpoints of its own Service, which nothing here uses.
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
            f"--secure-port={self.port}", f"--cert-dir={at}certs",
            f"--tls-cert-file={at}server.crt", f"--tls-private-key-file={at}server.key",
            f"--token-auth-file={at}tokens.csv", "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={at}accounts.crt",
            f"--service-account-signing-key-file={at}accounts.key", "--service-cluster-ip-range=10.96.0.0/16",
            f"--audit-policy-file={at}audit.json", f"--audit-log-path={self.audit_log}", "--audit-log-maxsize=4096")

    def _await_api_server(self):
        def is_ready():
            try:
                self.api.request("GET", "/readyz")
                return True
            except (OSError, ApiError, ssl.SSLError, ValueError):
                if not self.api_server.is_running():
                    raise RuntimeError("kube-apiserver has ended:\n" + self.api_server.last_lines()) from None
                return False
        wait_until(is_ready, START_SECONDS, "kube-apiserver is ready")

    def _is_answering(self, program, url):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            if not program.is_running():
                raise RuntimeError(f"{program.name} has ended:\n{program.last_lines()}") from None
            return False

    def _ask_etcd(self, call, question):
        request = urllib.request.Request(f"{self.etcd_url}/v3/kv/{call}", json.dumps(question).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
