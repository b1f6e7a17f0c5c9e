"""The programs of a cluster: e2e/tools builds some, Debian packages provide the others."""

import pathlib
import shutil
import subprocess

from cluster_setup import machine
from cluster_setup.state import SOURCE, SetupError

# Program: Debian's package.
DEBIAN = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "nft": "nftables", "ip": "iproute2",
          "nsenter": "util-linux", "unshare": "util-linux", "sysctl": "procps", "openssl": "openssl", "curl": "curl",
          "buildah": "buildah", "debootstrap": "debootstrap", "cc": "gcc", "conntrack": "conntrack",
          "/usr/lib/cni/bridge": "containernetworking-plugins"}
BUILD_SECONDS = 3600  # cold, all sets together, on a busy machine
# The Kubernetes versions that `up` can start, with their sets of e2e/tools.
KUBERNETES = {"default": ["kube", "node"], "newest": ["kube-newest", "node-newest"]}
OTHER_SETS = ["s3", "helm", "prometheus"]


def missing_packages():
    return sorted({package for program, package in DEBIAN.items() if shutil.which(program) is None})


def check_machine():
    obstacle = machine.obstacle()
    if obstacle:
        raise SetupError(obstacle)
    missing = missing_packages()
    if missing:
        raise SetupError(f"missing; apt-get install --no-install-recommends {' '.join(missing)}")


def folders(kubernetes):
    """Builds missing programs, with their progress on the terminal, and returns the folders with the programs.
    `kubernetes`: a key of KUBERNETES."""
    return [pathlib.Path(_build(name)) for name in KUBERNETES[kubernetes] + OTHER_SETS]


def _build(name):
    try:
        return subprocess.run(["bash", SOURCE / "e2e/tools/build.sh", name], stdout=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, timeout=BUILD_SECONDS, check=True).stdout.strip()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"the programs of {name} could not be built: {error}") from None


class Tools:
    """Finds programs by name."""

    def __init__(self, places):
        self.places = places

    def __getitem__(self, name):
        for place in self.places:
            if (place / name).exists():
                return place / name
        raise SetupError(f"{name} is in none of {', '.join(map(str, self.places))}")
