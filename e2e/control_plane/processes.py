"""Child processes that end with this process, also if it is killed."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time


def free_port():
    """Returns a free port of 127.0.0.1."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(question, seconds, what, every=0.1):
    """Polls until the result is true and returns it. TimeoutError, with `what`, if that takes too long."""
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"not true after {seconds:g} s: {what}")
        time.sleep(every)


class Program:
    """One process with its output in a file. The kernel kills it when the thread that started it ends."""

    def __init__(self, command, log, environment=None):
        self.name = os.path.basename(command[0])
        self.log = log
        output = open(log, "ab")
        try:
            # A session of its own: Ctrl-C reaches only this Python process, which then ends the programs in order.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env=environment or {"PATH": "/usr/bin:/bin", "HOME": os.path.dirname(log)}, start_new_session=True)
        finally:
            output.close()
        self._raise_priority()

    def _raise_priority(self):
        """Where the kernel schedules sessions as groups, a process has its parent's priority only within its session."""
        priority = os.getpriority(os.PRIO_PROCESS, os.getpid())
        if priority < 0:
            with contextlib.suppress(OSError):
                pathlib.Path(f"/proc/{self.pid}/autogroup").write_text(str(priority))

    @property
    def pid(self):
        return self.process.pid

    def is_running(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds):
        return self.process.wait(timeout=seconds)

    def kill(self):
        if self.is_running():
            self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=10):
        """Sends SIGTERM, and SIGKILL after a timeout."""
        if not self.is_running():
            return
        self.signal(signal.SIGTERM)
        try:
            self.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def last_lines(self, count=15):
        with open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-count:])
