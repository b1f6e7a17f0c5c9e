"""espalier-operator as a child process."""

import json
import os
import pathlib
import signal

from .api_server import REPOSITORY
from .permissions import SYSTEM_NAMESPACE
from .processes import Program, wait_until


def program():
    folder = pathlib.Path(os.environ.get("ESPALIER_BIN", REPOSITORY / "build" / "release" / "bin"))
    if not (folder / "espalier-operator").exists():
        raise SystemExit(f"no espalier-operator in {folder} (ESPALIER_BIN names another folder)")
    return str(folder / "espalier-operator")


class Operator:
    """`user`: the operator's user at the API server; `port`: a proxy's port instead of the server's."""

    def __init__(self, plane, user, *, namespace=None, elects=False, port=None, flags=()):
        self.user = user
        self.log = plane.folder / f"{user.rsplit(':', 1)[-1]}.log"
        self.log_offset = self.log.stat().st_size if self.log.exists() else 0
        scope = [f"--namespace={namespace}"] if namespace else ["--cluster-wide"]
        election = ["--leader-elect"] if elects else ["--no-leader-elect"]
        self.command = [program(), f"--kubeconfig={plane.kubeconfig(user, port, SYSTEM_NAMESPACE)}", *scope, *election,
                        "--log-format=json", *flags]
        self.start()

    def start(self):
        """Starts the process, also again after it has ended."""
        self.process = Program(self.command, str(self.log))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.is_running():
            self.process.signal(signal.SIGCONT)
            self.process.stop()

    def lines(self):
        """Returns the lines of its log as objects."""
        with open(self.log, "rb") as log:
            log.seek(self.log_offset)
            return [json.loads(line) for line in log if line.startswith(b"{") and line.endswith(b"}\n")]

    def has_said(self, words):
        return any(words in line.get("message", line.get("msg", "")) for line in self.lines())

    def await_words(self, words, seconds=60):
        def said():
            if not self.process.is_running():
                raise RuntimeError("espalier-operator has ended:\n" + self.process.last_lines())
            return self.has_said(words)
        wait_until(said, seconds, f"the operator says '{words}'")
        return self

    def memory_mib(self):
        """Returns the current and the peak resident memory."""
        with open(f"/proc/{self.process.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
