"""Checks whether this machine can host a cluster: tries the operations of nodes in temporary namespaces. Needs only Python
and util-linux, and leaves nothing behind."""

import errno
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile

from cluster_setup.state import SOURCE

CGROUPS = pathlib.Path("/sys/fs/cgroup")
CONTROLLERS = ["cpu", "cpuacct", "cpuset", "devices", "memory", "pids"]  # kubelet and runc need all of them
LEAST_MEMORY_GIB = 4  # programs of the cluster, servers and trainers of a small job
PROBE_SECONDS = 20

RTM_NEWLINK, IFLA_LINKINFO, IFLA_INFO_KIND = 16, 18, 1
NFT_MSG_GETGEN = 10 << 8 | 16  # subsystem, message
NETLINK_NETFILTER = 12
NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE, NLMSG_ERROR = 1, 4, 0x200, 0x400, 2


def obstacle():
    """Returns the reason why this machine cannot host a cluster, in one line, or None."""
    if os.geteuid() != 0:
        return "namespaces and mounts need root"
    return _obstacle_of_cgroups(CGROUPS) or _obstacle_of_kernel()


def shortage(meminfo=None):
    """Returns the reason why the machine currently lacks resources for one more cluster, or None."""
    meminfo = meminfo or pathlib.Path("/proc/meminfo").read_text()
    available = int(re.search(r"^MemAvailable: +(\d+) kB$", meminfo, re.MULTILINE).group(1)) / (1 << 20)
    if available < LEAST_MEMORY_GIB:
        return f"a cluster takes {LEAST_MEMORY_GIB} GiB of memory; available: {available:.1f}"
    return None


def _obstacle_of_cgroups(root):
    missing = [name for name in CONTROLLERS if not (root / name).is_dir()]
    if missing:
        return f"nodes need cgroup v1 controllers in {root}; missing: {', '.join(missing)}"
    for name in CONTROLLERS:
        mine = root / name / f"espalier-check-{os.getpid()}"
        try:
            mine.mkdir()
            mine.rmdir()
        except OSError as error:
            return f"no cgroups can be made in {root / name}: {error.strerror}"
    return None


def _obstacle_of_kernel():
    """Runs `probe` in new namespaces and returns its message, or None. The temporary folder is on the same file system as a
    cluster's, because some file systems do not support overlays."""
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-check-") as folder:
        call = f"from cluster_setup.machine import probe; probe({folder!r}, {_network_namespace()})"
        try:
            done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
                                   sys.executable, "-Bc", call],
                                  cwd=SOURCE / "e2e", capture_output=True, text=True, timeout=PROBE_SECONDS,
                                  stdin=subprocess.DEVNULL, check=False)
        except FileNotFoundError:
            return "unshare, of util-linux, is not installed"
        except subprocess.TimeoutExpired:
            return f"the kernel did not answer within {PROBE_SECONDS} s"
    if done.returncode == 0:
        return None
    return ((done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"])[-1]


def _network_namespace():
    return os.stat("/proc/self/ns/net").st_ino


def probe(folder, network_namespace_outside):
    """Tries the operations of a node inside new namespaces. Exits with a message at the first one that fails."""
    if _network_namespace() == network_namespace_outside:
        sys.exit("unshare made no network namespace")  # the machine's own network must not be changed
    for what, attempt in [
            ("an overlay in " + os.path.dirname(folder), lambda: _mount_overlay(pathlib.Path(folder))),
            ("a bridge", lambda: _make_link("bridge")),
            ("a veth pair", lambda: _make_link("veth")),
            ("nftables", lambda: _ask(NETLINK_NETFILTER, NFT_MSG_GETGEN, 0, struct.pack("=BBH", 0, 0, 0))),
            ("IP forwarding", lambda: pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")),
            ("/proc of a process namespace", lambda: _mount("-t", "proc", "proc", "/proc"))]:
        try:
            attempt()
        except OSError as error:
            sys.exit(f"nodes need {what}: {error.strerror}")


def _mount(*arguments):
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(errno.EPERM, " ".join(done.stderr.split()))


def _mount_overlay(folder):
    _mount("--make-rprivate", "/")
    for name in ["lower", "upper", "work", "merged"]:
        (folder / name).mkdir()
    _mount("-t", "overlay", "-o", f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work", "overlay",
           folder / "merged")


def _attribute(kind, value):
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _make_link(kind):
    """Creates a network device; the kernel chooses its name."""
    link = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)
    link += _attribute(IFLA_LINKINFO, _attribute(IFLA_INFO_KIND, kind.encode()))
    _ask(socket.NETLINK_ROUTE, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, link)


def _ask(protocol, message, flags, payload):
    """Sends a netlink request and waits until it is acknowledged; OSError with the kernel's reason."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as kernel:
        kernel.settimeout(PROBE_SECONDS / 2)
        flags |= NLM_F_REQUEST | NLM_F_ACK
        kernel.send(struct.pack("=IHHII", 16 + len(payload), message, flags, 1, 0) + payload)
        while True:
            answer = kernel.recv(1 << 16)
            while answer:
                length, kind = struct.unpack_from("=IH", answer)
                if kind == NLMSG_ERROR:
                    number = -struct.unpack_from("=i", answer, 16)[0]
                    if number:
                        raise OSError(number, os.strerror(number))
                    return
                answer = answer[length + -length % 4:]
