"""Graph servers on this machine."""

import contextlib
import json
import os
import pathlib
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator

from espalier import _core, errors, programs
from espalier.graph import DistGraph
from espalier.types import to_int

_END_SECONDS = 10  # from SIGTERM to SIGKILL of servers
_LAST_LINES = 20   # of a server's log, for the error if it does not start


class Servers:
    """The graph servers that `serve` has started.

    `addresses`: the argument of `DistGraph(servers=)`, one address for each partition. `environment`: the variables
    with which a program opens the graph (docs/programs.md). `processes`: the servers, each a subprocess.Popen, those of
    partition 0 first.
    """

    def __init__(self, addresses: list[str], environment: dict[str, str], processes: list[subprocess.Popen]) -> None:
        self.addresses, self.environment, self.processes = addresses, environment, processes

    def __repr__(self) -> str:
        return f"Servers({self.addresses})"

    def graph(self) -> DistGraph:
        """Returns a DistGraph that uses these servers. Its calls fail with Unavailable after the end of the block of
        `serve`."""
        return DistGraph(servers=self.addresses, environment={**_without_tls(os.environ), **self.environment})


@contextlib.contextmanager
def serve(partitions: str | os.PathLike[str], *, servers: int = 1, tls: bool = False,
          timeout: float = 600) -> Iterator[Servers]:
    """Serves a partitioned graph on loopback of this machine while the block runs, with a process for each partition.

        with ep.serve("parts/KEY") as servers:
            g = servers.graph()

    partitions: folder or s3:// URI with manifest.json. servers: number of servers of each partition. tls: whether to
    use mutual TLS, with certificates made for this block. timeout: seconds within which all servers must be ready.
    Yields Servers.

    The servers end at the end of the block, and if the calling thread or process ends. InvalidArgument: there are no
    partitions. NotFound: the program of the servers is missing. DeadlineExceeded: the servers are not ready in time. If
    a server does not start, the error has the end of its log and its exit code.
    """
    servers = to_int(servers, "servers", least=1)
    count = _count(partitions)
    with tempfile.TemporaryDirectory(prefix="espalier-serve-") as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)  # readable only by this user
        of_server, of_client = _make_certificates(folder) if tls else ({}, {})
        processes = []
        stack.callback(_end, processes)
        for number in range(count * servers):
            with open(folder / f"{number}.log", "wb") as log:
                processes.append(subprocess.Popen(
                    [programs.path("espalier-graph-server"), "--partitions", os.fspath(partitions), "--partition",
                     str(number // servers), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                     "--drain-seconds", "0", "--log-format", "text", "--ready-file", folder / f"{number}.ready"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**_without_tls(os.environ), **of_server},
                    start_new_session=True, preexec_fn=programs.end_with_this_thread()))
        deadline = time.monotonic() + timeout
        ready = [_await(process, folder, number, number // servers, deadline)
                 for number, process in enumerate(processes)]
        addresses = ["|".join(ready[first:first + servers]) for first in range(0, len(ready), servers)]
        yield Servers(addresses, {"ESPALIER_SERVERS": ",".join(addresses), **of_client}, processes)


def _count(partitions):
    """Returns the number of partitions from the manifest, which may be in object storage."""
    process = subprocess.run([programs.path(), "inspect", os.fspath(partitions), "--json"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True)
    if process.returncode != 0:
        raise errors.from_exit_code(process.returncode, process.stderr.strip())
    return json.loads(process.stdout)["partitions"]


def _await(process, folder, number, partition, deadline):
    """Waits until a server serves, and returns its address."""
    ready = folder / f"{number}.ready"
    while not ready.exists():
        code = process.poll()
        if code is None and time.monotonic() < deadline:
            time.sleep(0.01)  # polls, because nothing signals the end of a process or a new file
            continue
        lines = (folder / f"{number}.log").read_text(errors="replace").splitlines()[-_LAST_LINES:]
        what = "is not ready in time" if code is None else f"ended with {code}"
        message = "\n".join([f"the graph server of partition {partition} {what}:", *lines])
        raise errors.DeadlineExceeded(message) if code is None else errors.from_exit_code(code, message)
    return json.loads(ready.read_text())["address"]


def _end(processes):
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + _END_SECONDS
    for process in processes:
        try:
            process.wait(timeout=max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _without_tls(environment):
    return {name: value for name, value in environment.items() if not name.startswith("ESPALIER_TLS_")}


def _make_certificates(folder):
    """Writes a certificate authority and certificates of servers and clients. Returns the environment variables of
    both."""
    job = f"local/{secrets.token_hex(12)}"
    authority, *pairs = _core.make_certificates(job)
    (folder / "ca.crt").write_text(authority)
    sides = []
    for side, (certificate, key) in zip(("server", "trainer"), pairs):
        (folder / f"{side}.crt").write_text(certificate)
        (folder / f"{side}.key").write_text(key)
        sides.append({"ESPALIER_TLS_CA": str(folder / "ca.crt"),
                      "ESPALIER_TLS_CERTIFICATE": str(folder / f"{side}.crt"),
                      "ESPALIER_TLS_KEY": str(folder / f"{side}.key"), "ESPALIER_TLS_JOB": job})
    return sides
