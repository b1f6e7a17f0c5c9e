"""etcd, API server, controller manager, scheduler, CoreDNS, the S3 gateway and Prometheus, all in the control plane's
namespace."""

import json
import pathlib
import subprocess
import sys

from cluster_setup import scraping
from cluster_setup.processes import Program, run, wait_until, within
from cluster_setup.state import DISCOVERY_PORT, GATEWAY, PROMETHEUS_PORT, S3_PORT, SERVICE_RANGE
from observability.dashboards import ALERTS
from observability.shortened import shortened

# What the newest Kubernetes has off by default: PodGroups, which the operator uses for gangs.
FEATURE_GATES = {"newest": ["GenericWorkload"]}
RUNTIME_CONFIG = {"newest": ["scheduling.k8s.io/v1beta1"]}
POD_DISCOVERY = pathlib.Path(__file__).with_name("pod_discovery.py")


def _enabled(flag, names):
    """Returns the arguments that set each of these names to true with a flag of Kubernetes' programs; none without names."""
    return [f"{flag}={','.join(f'{name}=true' for name in names)}"] if names else []


def _permissions(user, rules):
    """Returns the RBAC objects that grant `rules` to a user: a program outside the cluster's nodes, which authenticates with
    a certificate and not as a service account."""
    rbac, kind = "rbac.authorization.k8s.io", "ClusterRole"
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": f"{rbac}/v1", "kind": kind, "metadata": {"name": user}, "rules": rules},
        {"apiVersion": f"{rbac}/v1", "kind": f"{kind}Binding", "metadata": {"name": user},
         "roleRef": {"apiGroup": rbac, "kind": kind, "name": user},
         "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}]}]})


DNS_PERMISSIONS = _permissions("coredns", [
    {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}])
PROMETHEUS_PERMISSIONS = _permissions("prometheus", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])


class ControlPlane:
    def __init__(self, cluster, tools):
        self._cluster = cluster
        self._tools = tools
        self._gates = _enabled("--feature-gates", FEATURE_GATES.get(cluster.kubernetes))
        self._runtime_config = _enabled("--runtime-config", RUNTIME_CONFIG.get(cluster.kubernetes))
        self.programs = {name: Program(cluster, name) for name in
                         ["etcd", "apiserver", "controller-manager", "scheduler", "coredns", "s3", "pod-discovery",
                          "prometheus"]}

    def ensure(self):
        self._start("etcd", "etcd", "--data-dir", self._cluster.folder / "etcd",
                    "--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
                    "--listen-peer-urls", "http://127.0.0.1:0", "--unsafe-no-fsync")
        self._ensure_api_server()
        self._ensure_controllers()
        self._ensure_dns()
        self.ensure_s3()
        self._ensure_prometheus()

    def _start(self, name, tool, *arguments, environment=None):
        self._start_program(name, self._tools[tool], *arguments, environment=environment)

    def _start_program(self, name, *command, environment=None):
        self.programs[name].start(self._cluster.control_plane_namespace, command, environment)

    def kubectl(self, *arguments, **kwargs):
        return run(within(self._cluster.control_plane_namespace,
                          [self._tools["kubectl"], "--kubeconfig", self._cluster.kubeconfig, *arguments]), **kwargs)

    def _answers(self, *curl_arguments, codes):
        """Returns whether a request inside the namespace gets a response with one of these codes."""
        done = subprocess.run(within(self._cluster.control_plane_namespace,
                                     ["curl", "--silent", "--max-time", "2", "--output", "/dev/null",
                                      "--write-out", "%{http_code}", *curl_arguments]),
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout in codes

    # The default tolerations (300 s) and all default admission plugins are left as they are.
    def _ensure_api_server(self):
        pki = self._cluster.pki
        self._start("apiserver", "kube-apiserver", *self._gates, *self._runtime_config,
                    "--etcd-servers=http://127.0.0.1:2379",
                    f"--advertise-address={GATEWAY}", "--secure-port=6443", "--allow-privileged=true",
                    f"--service-cluster-ip-range={SERVICE_RANGE}", "--authorization-mode=Node,RBAC",
                    "--enable-admission-plugins=NodeRestriction", f"--client-ca-file={pki}/ca.crt",
                    f"--tls-cert-file={pki}/apiserver.crt", f"--tls-private-key-file={pki}/apiserver.key",
                    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                    f"--service-account-key-file={pki}/sa.pub", f"--service-account-signing-key-file={pki}/sa.key",
                    f"--kubelet-client-certificate={pki}/kubelet-client.crt",
                    f"--kubelet-client-key={pki}/kubelet-client.key", f"--kubelet-certificate-authority={pki}/ca.crt",
                    "--kubelet-preferred-address-types=InternalIP")
        wait_until("the API server", 60,
                   lambda: self._answers("--cacert", pki / "ca.crt", "--cert", pki / "admin.crt", "--key",
                                         pki / "admin.key", f"https://{GATEWAY}:6443/readyz", codes={"200"}),
                   [self.programs["etcd"], self.programs["apiserver"]])

    def _ensure_controllers(self):
        pki = self._cluster.pki
        # A lost node is detected after 20 s instead of 50; all later timeouts have their default values.
        self._start("controller-manager", "kube-controller-manager", *self._gates,
                    f"--kubeconfig={pki}/controller-manager.kubeconfig", f"--root-ca-file={pki}/ca.crt",
                    f"--service-account-private-key-file={pki}/sa.key", "--use-service-account-credentials",
                    f"--cluster-signing-cert-file={pki}/ca.crt", f"--cluster-signing-key-file={pki}/ca.key",
                    "--allocate-node-cidrs=false", "--leader-elect=false", "--node-monitor-grace-period=20s")
        self._start("scheduler", "kube-scheduler", *self._gates, f"--kubeconfig={pki}/scheduler.kubeconfig",
                    "--leader-elect=false")

    def _ensure_dns(self):
        corefile = self._cluster.folder / "Corefile"
        corefile.write_text(f""".:53 {{
  bind {GATEWAY}
  errors
  ready 127.0.0.1:8181
  kubernetes cluster.local in-addr.arpa ip6.arpa {{
    kubeconfig {self._cluster.pki}/coredns.kubeconfig
    pods insecure
    ttl 5
  }}
  cache 5
  loadbalance
}}
""")
        self.kubectl("apply", "--filename", self._write("dns-permissions.json", DNS_PERMISSIONS))
        self._start("coredns", "coredns", "-conf", corefile)
        wait_until("CoreDNS", 60, lambda: self._answers("http://127.0.0.1:8181/ready", codes={"200"}),
                   [self.programs["coredns"]])

    def ensure_s3(self):
        settings = self._cluster.settings
        self._cluster.bucket_folder.mkdir(exist_ok=True)
        self._start("s3", "versitygw", "--port", f"{GATEWAY}:{S3_PORT}", "--region", "us-east-1", "posix",
                    self._cluster.bucket_folder,
                    environment={"ROOT_ACCESS_KEY": settings["s3_access_key"],
                                 "ROOT_SECRET_KEY": settings["s3_secret_key"]})
        # The gateway rejects a request without credentials, which shows that it runs.
        wait_until("the S3 gateway", 30, lambda: self._answers(f"http://{GATEWAY}:{S3_PORT}/", codes={"403"}),
                   [self.programs["s3"]])

    def stop_s3(self):
        """Kills the gateway, as if its machine had failed. The buckets keep their objects."""
        gateway = self.programs["s3"]
        gateway.kill()
        wait_until("the end of the S3 gateway", 30, lambda: not gateway.is_running())

    # scraping.py describes the targets, observability/shortened.py the reason for two files of rules.
    def _ensure_prometheus(self):
        self.kubectl("apply", "--filename", self._write("prometheus-permissions.json", PROMETHEUS_PERMISSIONS))
        self._start_program("pod-discovery", sys.executable, "-B", POD_DISCOVERY,
                            self._cluster.pki / "prometheus.kubeconfig", DISCOVERY_PORT)
        rules = [ALERTS, self._write("alerts-shortened.yaml", shortened(ALERTS.read_text()))]
        configuration = self._write("prometheus.yml", json.dumps(scraping.configuration(rules), indent=2) + "\n")
        address = f"{GATEWAY}:{PROMETHEUS_PORT}"
        self._start("prometheus", "prometheus", f"--config.file={configuration}", f"--web.listen-address={address}",
                    f"--storage.tsdb.path={self._cluster.folder}/prometheus", "--storage.tsdb.retention.time=6h",
                    "--log.level=warn")
        watched = [self.programs["pod-discovery"], self.programs["prometheus"]]
        wait_until("the discovery of pods", 30,
                   lambda: self._answers(f"http://127.0.0.1:{DISCOVERY_PORT}/", codes={"200"}), watched)
        wait_until("Prometheus", 60, lambda: self._answers(f"http://{address}/-/ready", codes={"200"}), watched)

    def _write(self, name, text):
        path = self._cluster.folder / name
        path.write_text(text)
        return path
