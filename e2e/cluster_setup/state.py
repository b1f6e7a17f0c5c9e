"""Names, folders and addresses of a cluster. Two clusters share no name, no folder and no address space."""

import json
import os
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "espalier"

# Inside the cluster's own network namespaces, so that every cluster has the same.
GATEWAY = "10.200.0.1"
SERVICE_RANGE = "10.96.0.0/16"
POD_RANGE = "10.244.0.0/16"
S3_PORT = 10000
PROMETHEUS_PORT = 9090
DISCOVERY_PORT = 9091  # of loopback


class SetupError(Exception):
    """An error with a message for the user of e2e/cluster."""


class Cluster:
    def __init__(self, name):
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,15}", name):
            raise SetupError(f"--name {name}: lower-case letters, digits and '-', 16 at most")
        self.name = name
        self.folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"espalier-e2e-{name}"
        self.pki = self.folder / "pki"
        self.logs = self.folder / "log"
        self.bucket_folder = self.folder / "buckets"
        self.kubeconfig = self.pki / "admin.kubeconfig"

    @property
    def control_plane_namespace(self):
        return f"espalier-e2e-{self.name}"

    def node_namespace(self, node):
        return f"{self.control_plane_namespace}.{node}"

    def namespaces(self):
        """Returns the existing network namespaces of this cluster, also those of an incomplete `up`: nodes first."""
        folder = pathlib.Path("/run/netns")
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        nodes = sorted(name for name in names if name.startswith(self.control_plane_namespace + "."))
        return nodes + [name for name in names if name == self.control_plane_namespace]

    def cgroup(self, node):
        return f"{self.control_plane_namespace}.{node}"

    @property
    def node_names(self):
        """Returns the names of the nodes that `up` was to start; empty before `up`."""
        return [f"n{index}" for index in range(1, self.settings.get("nodes", 0) + 1)]

    @property
    def kubernetes(self):
        """Returns which Kubernetes the cluster has: a key of tools.KUBERNETES."""
        return self.settings.get("kubernetes", "default")

    @property
    def settings(self):
        try:
            return json.loads((self.folder / "settings.json").read_text())
        except FileNotFoundError:
            return {}

    def write_settings(self, **changes):
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "settings.json"
        new = path.with_suffix(".new")
        new.write_text(json.dumps({**self.settings, **changes}, indent=2) + "\n")
        new.rename(path)


def node_address(node):
    return f"10.200.0.{10 + int(node[1:])}"


def pod_range_of(node):
    return f"10.244.{int(node[1:])}.0/24"
