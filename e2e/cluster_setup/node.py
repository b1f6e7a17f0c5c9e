"""A node: containerd, kube-proxy and kubelet in network, mount and pid namespaces of their own (node.sh is its init).

Killing its init process kills all processes of the node at once, as in a machine failure."""

import datetime
import json
import pathlib

from cluster_setup import network
from cluster_setup.processes import Program, run, wait_until
from cluster_setup.state import GATEWAY, POD_RANGE, node_address, pod_range_of

NODE_SCRIPT = pathlib.Path(__file__).with_name("node.sh")
PAUSE_IMAGE = "localhost/espalier-e2e-pause:1"


def _seconds(time):
    return datetime.datetime.fromisoformat(time).timestamp()


class Node:
    def __init__(self, cluster, name, tools):
        self._cluster = cluster
        self._tools = tools
        self._folder = cluster.folder / name
        self.name = name
        self.program = Program(cluster, name)

    def ensure(self):
        """Starts the node unless it is running."""
        network.ensure_node(self._cluster, self.name)
        if self.program.is_running():
            return  # its programs would end if their configuration changed
        for folder in ["containerd", "pods", "cni/net.d", "imported"]:
            (self._folder / folder).mkdir(parents=True, exist_ok=True)
        self._write_containerd_configuration()
        self._write_kubelet_configuration()
        self._write_proxy_configuration()
        self.program.start(
            self._cluster.node_namespace(self.name),
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", NODE_SCRIPT],
            {"NODE": self.name, "FOLDER": str(self._folder), "CGROUP": self._cluster.cgroup(self.name),
             "LOGS": str(self._cluster.logs), "KUBELET": str(self._tools["kubelet"]),
             "KUBE_PROXY": str(self._tools["kube-proxy"]), "NODE_IP": node_address(self.name),
             "KUBECONFIG_FILE": str(self._cluster.pki / f"{self.name}.kubeconfig")})

    def wait_until_ready(self, control_plane):
        """Waits until the running kubelet reports that the node is ready. Reports of an earlier kubelet do not count."""

        def is_ready():
            listed = json.loads(control_plane.kubectl("get", "nodes", "--output", "json"))
            return any(condition["type"] == "Ready" and condition["status"] == "True"
                       and _seconds(condition["lastHeartbeatTime"]) >= int(self.program.started_at())
                       for node in listed["items"] if node["metadata"]["name"] == self.name
                       for condition in node["status"].get("conditions", []))

        wait_until(f"node {self.name} Ready", 120, is_ready, [self.program])

    def import_images(self, archives):
        """Imports OCI archives into the node's containerd, each once."""
        for archive in archives:
            mark = self._folder / "imported" / archive.parent.name / archive.name
            if not mark.exists():
                self.load_image(archive)
                mark.parent.mkdir(parents=True, exist_ok=True)
                mark.touch()

    def load_image(self, archive):
        """Imports an OCI archive into the node's containerd. Replaces an earlier image of the name."""
        run(self._inside(["ctr", "--namespace", "k8s.io", "images", "import", archive]), timeout=300)

    def _inside(self, command):
        """Returns the command that runs a command in the node's mount namespace."""
        pid = self.program.pid()
        init = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        return ["nsenter", f"--mount=/proc/{init}/ns/mnt", *command]

    def kill(self):
        self.program.kill()
        wait_until(f"the end of node {self.name}", 30, lambda: not self._processes())

    def _processes(self):
        return run(["ip", "netns", "pids", self._cluster.node_namespace(self.name)]).split()

    def _write(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        (self._folder / name).write_text(text)

    # restrict_oom_score_adj and the kubelet's oomScoreAdj: without CAP_SYS_RESOURCE no process may lower its own.
    def _write_containerd_configuration(self):
        self._write("containerd.toml", f"""version = 2
root = "{self._folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{self._folder}/cni/net.d"
[plugins."io.containerd.internal.v1.opt"]
  path = "/run/containerd-opt"
""")
        self._write("cni/net.d/10-pods.conflist", {
            "cniVersion": "1.0.0", "name": "pods",
            "plugins": [{"type": "bridge", "bridge": "cni0", "isDefaultGateway": True, "hairpinMode": True,
                         "ipMasq": False,
                         "ipam": {"type": "host-local", "dataDir": f"{self._folder}/cni/leases",
                                  "ranges": [[{"subnet": pod_range_of(self.name)}]]}}]})

    # The kubelet's own checks of disk space are off: the disk is the machine's, not the node's. Certificates and
    # ConfigMaps reach pods within seconds instead of a minute.
    def _write_kubelet_configuration(self):
        pki = self._cluster.pki
        self._write("resolv.conf", f"nameserver {GATEWAY}\n")
        self._write("kubelet.json", {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self._cluster.cgroup(self.name)}",
            "failCgroupV1": False, "failSwapOn": False, "oomScoreAdj": 0,
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "clusterDNS": [GATEWAY], "clusterDomain": "cluster.local", "resolvConf": f"{self._folder}/resolv.conf",
            "tlsCertFile": f"{pki}/{self.name}.crt", "tlsPrivateKeyFile": f"{pki}/{self.name}.key",
            "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": f"{pki}/ca.crt"},
                               "webhook": {"enabled": True}},
            "authorization": {"mode": "Webhook"},
            "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "0%", "imagefs.available": "0%",
                             "nodefs.inodesFree": "0%"},
            "volumePluginDir": f"{self._folder}/kubelet/volume-plugins", "podLogsDir": f"{self._folder}/pods",
            "syncFrequency": "10s", "nodeStatusUpdateFrequency": "4s", "nodeLeaseDurationSeconds": 20})

    def _write_proxy_configuration(self):
        self._write("proxy.json", {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
            "hostnameOverride": self.name, "clusterCIDR": POD_RANGE,
            "clientConnection": {"kubeconfig": f"{self._cluster.pki}/proxy.kubeconfig"},
            # All nodes share the kernel's connection table, so a node must not set its limits.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}})
