"""A control plane without machines: an API server with its controllers and scheduler, and nodes that kwok simulates."""

import threading

from .api_server import OPERATORS, REPOSITORY, START_SECONDS, ApiServer
from .processes import wait_until

STAGES = REPOSITORY / "e2e/control_plane/stages.yaml"
OURS = "app.kubernetes.io/managed-by=espalier-operator"


class ControlPlane(ApiServer):
    def __init__(self, folder, num_nodes, **options):
        super().__init__(folder, **options)
        self.num_nodes = num_nodes
        self._lock = threading.Lock()
        self._unused_users = list(OPERATORS)

    def take_user(self):
        """Returns a user for one operator that no other operator on this control plane has, so that permissions, logs and
        requests are separate. Thread-safe."""
        with self._lock:
            return self._unused_users.pop(0)

    def _complete(self):
        # Before the garbage collector, which looks for new kinds only every 30 s.
        self.apply(REPOSITORY / "crds" / "disttrainings.yaml")
        self._start_controllers()
        self._make_nodes()

    def make_namespace(self, name, labels=None):
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})
        # Pods are refused until there is a service account.
        wait_until(lambda: self.api.get("ServiceAccount", name, "default"), 30, f"namespace {name} has an account")

    def _start_controllers(self):
        common = (*self.gate_flags, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400")
        self._run("kube-controller-manager", f"--kubeconfig={self.kubeconfig('controller-manager')}", *common,
                  f"--service-account-private-key-file={self.folder}/accounts.key",
                  f"--root-ca-file={self.folder}/ca.crt",
                  # Simulated nodes report once that they are ready, and send no heartbeats.
                  "--node-monitor-grace-period=24h")
        self._run("kube-scheduler", f"--kubeconfig={self.kubeconfig('scheduler')}", *common)
        self._run("kwok", f"--kubeconfig={self.kubeconfig('kwok')}", f"--config={STAGES}")

    def _make_nodes(self):
        for i in range(self.num_nodes):
            self.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": f"fake-{i:03d}", "labels": {"kubernetes.io/hostname": f"fake-{i:03d}", "kubernetes.io/arch": "amd64"}}})
        def is_ready(node):
            conditions = node["status"].get("conditions", [])
            return not node["spec"].get("taints") and \
                any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        def are_ready():
            return all(is_ready(node) for node in self.api.list("Node"))
        wait_until(are_ready, START_SECONDS, "all nodes are ready", every=0.3)
