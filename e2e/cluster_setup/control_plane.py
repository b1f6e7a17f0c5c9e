"""etcd, API server, controller manager, scheduler, CoreDNS and the S3 gateway, all in the control plane's namespace."""

import subprocess

from cluster_setup.processes import Program, run, wait_until, within
from cluster_setup.state import GATEWAY, S3_PORT, SERVICE_RANGE

# CoreDNS runs outside the cluster's nodes, so it comes with a certificate instead of a service account.
DNS_PERMISSIONS = """
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "coredns"}, "rules": [
    {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}]},
  {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "coredns"},
   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "coredns"},
   "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "coredns"}]}]}
"""


class ControlPlane:
    def __init__(self, cluster, tools):
        self._cluster = cluster
        self._tools = tools
        self.programs = {name: Program(cluster, name) for name in
                         ["etcd", "apiserver", "controller-manager", "scheduler", "coredns", "s3"]}

    def ensure(self):
        self._start("etcd", "etcd", "--data-dir", self._cluster.folder / "etcd",
                    "--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
                    "--listen-peer-urls", "http://127.0.0.1:0", "--unsafe-no-fsync")
        self._ensure_api_server()
        self._ensure_controllers()
        self._ensure_dns()
        self.ensure_s3()

    def _start(self, name, tool, *arguments, environment=None):
        self.programs[name].start(self._cluster.control_plane_namespace, [self._tools[tool], *arguments], environment)

    def kubectl(self, *arguments, **kwargs):
        return run(within(self._cluster.control_plane_namespace,
                          [self._tools["kubectl"], "--kubeconfig", self._cluster.kubeconfig, *arguments]), **kwargs)

    def _answers(self, *curl_arguments, codes):
        """Whether a request inside the namespace is answered with one of these codes."""
        done = subprocess.run(within(self._cluster.control_plane_namespace,
                                     ["curl", "--silent", "--max-time", "2", "--output", "/dev/null",
                                      "--write-out", "%{http_code}", *curl_arguments]),
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout in codes

    # The default tolerations (300 s) and all default admission plugins are left as they are.
    def _ensure_api_server(self):
        pki = self._cluster.pki
        self._start("apiserver", "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379",
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
        # A lost node is noticed after 20 s instead of 50: what follows then is as slow as everywhere.
        self._start("controller-manager", "kube-controller-manager",
                    f"--kubeconfig={pki}/controller-manager.kubeconfig", f"--root-ca-file={pki}/ca.crt",
                    f"--service-account-private-key-file={pki}/sa.key", "--use-service-account-credentials",
                    f"--cluster-signing-cert-file={pki}/ca.crt", f"--cluster-signing-key-file={pki}/ca.key",
                    "--allocate-node-cidrs=false", "--leader-elect=false", "--node-monitor-grace-period=20s")
        self._start("scheduler", "kube-scheduler", f"--kubeconfig={pki}/scheduler.kubeconfig", "--leader-elect=false")

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
        # It refuses who is nobody, which shows that it is there.
        wait_until("the S3 gateway", 30, lambda: self._answers(f"http://{GATEWAY}:{S3_PORT}/", codes={"403"}),
                   [self.programs["s3"]])

    def stop_s3(self):
        """As when its machine fails; what is in the buckets stays."""
        gateway = self.programs["s3"]
        gateway.kill()
        wait_until("the end of the S3 gateway", 30, lambda: not gateway.is_running())

    def _write(self, name, text):
        path = self._cluster.folder / name
        path.write_text(text)
        return path
