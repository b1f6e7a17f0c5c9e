"""Programs in a cluster's network namespaces: started with a log, watched, and ended by the namespace's process list."""

import json
import os
import pathlib
import signal
import subprocess
import time

from cluster_setup.state import SetupError

LOG_TAIL_LINES = 15


def run(command, timeout=60, **kwargs):
    """Runs a command to its end and returns its standard output."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, **kwargs)
    except subprocess.TimeoutExpired:
        raise SetupError(f"took longer than {timeout} s: {' '.join(command)}") from None
    except FileNotFoundError:
        raise SetupError(f"not installed: {command[0]}") from None
    if done.returncode != 0:
        tail = "\n".join((done.stderr or done.stdout).splitlines()[-LOG_TAIL_LINES:])
        raise SetupError(f"exit status {done.returncode}: {' '.join(command)}\n{tail}")
    return done.stdout


def within(namespace, command):
    return ["nsenter", f"--net=/run/netns/{namespace}", *map(str, command)]


def wait_until(what, seconds, is_done, watched=()):
    """Polls is_done. Fails if it takes longer than `seconds`, or if a watched program ends."""
    deadline = time.monotonic() + seconds
    while not is_done():
        for program in watched:
            if not program.is_running():
                raise SetupError(f"{program.name} has ended while waiting for {what}:\n{program.log_tail()}")
        if time.monotonic() > deadline:
            tails = "\n".join(f"-- {program.name}:\n{program.log_tail()}" for program in watched)
            raise SetupError(f"{what}: not within {seconds} s\n{tails}")
        time.sleep(0.2)


def _start_time(pid):
    """Returns the start time of a process, which distinguishes it from a later one with the same number. None if the process
    does not exist or is a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


class Program:
    """One program of a cluster, by its name; known across calls of e2e/cluster."""

    def __init__(self, cluster, name):
        self.name = name
        self.log = cluster.logs / f"{name}.log"
        self._record = cluster.folder / "processes" / f"{name}.json"

    def pid(self):
        try:
            record = json.loads(self._record.read_text())
        except FileNotFoundError:
            return None
        started = _start_time(record["pid"])
        return record["pid"] if started is not None and started == record["started"] else None

    def is_running(self):
        return self.pid() is not None

    def start(self, namespace, command, environment=None):
        """Starts the program unless it is running. It outlives its caller and does not get the terminal's Ctrl-C."""
        if self.is_running():
            return
        self._record.parent.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(within(namespace, command), stdout=log, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True,
                                       env={**os.environ, **(environment or {})})
        self._record.write_text(json.dumps({"pid": process.pid, "started": _start_time(process.pid)}))

    def started_at(self):
        """Returns the time of the last start, in seconds since 1970."""
        return self._record.stat().st_mtime

    def kill(self):
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def log_tail(self):
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            lines = []
        return "\n".join(lines[-LOG_TAIL_LINES:]) + f"\n(all of it: {self.log})"


def end_all_in(namespace, grace_seconds):
    """Sends SIGTERM to every process of a network namespace, and SIGKILL after the grace period, until none is left."""

    def pids():
        return [int(pid) for pid in run(["ip", "netns", "pids", namespace]).split()]

    def signal_all(number):
        for pid in pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    if grace_seconds > 0:
        signal_all(signal.SIGTERM)
        deadline = time.monotonic() + grace_seconds
        while pids() and time.monotonic() < deadline:
            time.sleep(0.1)

    def is_empty():
        signal_all(signal.SIGKILL)
        return not pids()

    wait_until(f"the end of all processes in {namespace}", 30, is_empty)
