"""Machines to reach over ssh: network namespaces on a bridge, each with a real sshd of its own configuration, keys and
port. The launcher has a namespace too. Requires root."""

import os
import pathlib
import re
import shutil
import subprocess
import time

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
PORT = 2222
KNOWN_UNREACHABLE = "10.77.0.99"


def sh(*command, **kwargs):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=60, **kwargs)


def sweep():
    """Removes namespaces of tests that were killed, with their processes. The name of a namespace contains the process
    id of its test."""
    for line in sh("ip", "netns", "list").stdout.splitlines():
        name = line.split()[0]
        made_by = re.match(r"esp-(\d+)-", name)
        if made_by and not pathlib.Path("/proc", made_by[1]).exists():
            remove_namespace(name)


def remove_namespace(name):
    pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, timeout=60, check=False)
    for pid in pids.stdout.split():
        subprocess.run(["kill", "-9", pid], capture_output=True, timeout=60, check=False)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, timeout=60, check=False)


def reason_against(folder):
    """Returns why SshHosts cannot run on this machine; None if they can."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    hosts = SshHosts(folder, count=1)
    try:
        sweep()
        hosts.start()
        login = subprocess.run(hosts.inside("l", "ssh", *hosts.ssh_options(), hosts.addresses[0], "true"),
                               capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
        return None if login.returncode == 0 else login.stderr + hosts.log(0)
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr}"
    except (OSError, TimeoutError) as error:
        return str(error)
    finally:
        hosts.stop()


class SshHosts:
    """`count` hosts. `hidden` is {host: folder}: the host sees an empty folder of its own in place of the folder."""

    def __init__(self, folder, count=2, hidden=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.name = f"esp-{os.getpid()}-{os.urandom(3).hex()}"
        self.addresses = [f"10.77.0.{10 + host}" for host in range(count)]
        self.addresses6 = [f"fd77::{10 + host}" for host in range(count)]
        self.hidden = hidden or {}
        self.daemons = []
        self.namespaces = []

    def start(self):
        for kind in ("host", "user", "stranger"):
            sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / kind)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized_keys")
        host_key = " ".join((self.folder / "host.pub").read_text().split()[:2])
        known = [f"[{address}]:{PORT} {host_key}\n" for address in self.addresses + self.addresses6]
        (self.folder / "known_hosts").write_text("".join(known))
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        self._add_namespace("l")
        self._in("l", "ip", "link", "add", "bridge", "type", "bridge")
        self._in("l", "ip", "link", "set", "bridge", "up")
        self._add_addresses("l", "bridge", "10.77.0.1", "fd77::1")
        for host, address in enumerate(self.addresses):
            self._add_namespace(host)
            self._in("l", "ip", "link", "add", f"v{host}", "type", "veth", "peer", "name", "eth0", "netns",
                     self.namespace(host))
            self._in("l", "ip", "link", "set", f"v{host}", "master", "bridge", "up")
            self._in(host, "ip", "link", "set", "eth0", "up")
            self._add_addresses(host, "eth0", address, self.addresses6[host])
            self._start_sshd(host)
        for address in self.addresses:
            self._await_sshd(address)

    def stop(self):
        try:
            for daemon in self.daemons:
                daemon.kill()
                daemon.wait(30)
        finally:
            for namespace in self.namespaces:
                remove_namespace(namespace)

    def namespace(self, host):
        return f"{self.name}-{host}"

    def inside(self, host, *command):
        """Returns the command line that runs `command` on a host; host "l" is the launcher's."""
        return ["ip", "netns", "exec", self.namespace(host), *map(str, command)]

    def processes(self, host):
        """Returns the command lines of a host's processes, except sshd, by process id."""
        pids = sh("ip", "netns", "pids", self.namespace(host)).stdout.split()
        found = {}
        for pid in pids:
            try:
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if command and not command.startswith(("sshd", SSHD)):
                found[int(pid)] = command
        return found

    def sessions(self, host):
        """Returns the ids of the processes that serve ssh connections: "sshd", or "sshd-session" since OpenSSH 9.8."""
        pids = map(int, sh("ip", "netns", "pids", self.namespace(host)).stdout.split())
        return [pid for pid in pids if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("sshd")
                and pid != self.daemons[host].pid]

    def await_quiet(self, seconds=90):
        """Waits until only sshd runs on the hosts. Returns the processes that still run after `seconds`, by host."""
        deadline = time.monotonic() + seconds
        while True:
            left = {host: self.processes(host) for host in range(len(self.addresses))}
            if not any(left.values()) or time.monotonic() > deadline:
                return {host: commands for host, commands in left.items() if commands}
            time.sleep(0.1)

    def write_hosts(self, lines=None):
        path = self.folder / "hosts.txt"
        path.write_text("\n".join(lines or self.addresses) + "\n")
        return path

    def flags(self, key="user"):
        return ["--ssh-port", PORT, "--ssh-key", self.folder / key, "--ssh-option",
                f"UserKnownHostsFile={self.folder / 'known_hosts'}", "--ssh-option", "StrictHostKeyChecking=yes"]

    def ssh_options(self):
        """Returns the same settings as flags of ssh."""
        return ["-p", str(PORT), "-i", str(self.folder / "user"), "-o", "BatchMode=yes", "-o",
                f"UserKnownHostsFile={self.folder / 'known_hosts'}", "-o", "StrictHostKeyChecking=yes"]

    def log(self, host):
        return (self.folder / f"sshd-{host}.log").read_text()

    def _add_namespace(self, host):
        sh("ip", "netns", "add", self.namespace(host))
        self.namespaces.append(self.namespace(host))
        self._in(host, "ip", "link", "set", "lo", "up")

    def _add_addresses(self, host, device, address, address6):
        self._in(host, "ip", "address", "add", f"{address}/24", "dev", device)
        self._in(host, "ip", "address", "add", f"{address6}/64", "dev", device, "nodad")

    def _in(self, host, *command):
        sh(*self.inside(host, *command))

    def _start_sshd(self, host):
        configuration = self.folder / f"sshd-{host}.conf"
        configuration.write_text(
            f"Port {PORT}\nListenAddress {self.addresses[host]}\nListenAddress {self.addresses6[host]}\n"
            f"HostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/authorized_keys\n"
            "PidFile none\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n")
        start = f"exec {SSHD} -D -e -f {configuration}"
        if host in self.hidden:
            start = f"mount -t tmpfs tmpfs {self.hidden[host]} && {start}"
        log = open(self.folder / f"sshd-{host}.log", "w", encoding="utf-8")
        with log:
            # Killed with this process, even by SIGKILL.
            command = ["setpriv", "--pdeathsig", "KILL", *self.inside(host, "unshare", "--mount", "sh", "-c", start)]
            self.daemons.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def _await_sshd(self, address):
        probe = f"import socket; socket.create_connection(('{address}', {PORT}), 5).close()"
        deadline = time.monotonic() + 60
        while subprocess.run(self.inside("l", "python3", "-c", probe), capture_output=True, timeout=60,
                             check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no sshd at {address}")
            time.sleep(0.05)
