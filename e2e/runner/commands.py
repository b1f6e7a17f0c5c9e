"""Other programs' commands with a deadline, and polling with a deadline."""

import math
import subprocess
import time

# When the running scenario must have ended (time.monotonic()).
_end_of_scenario = math.inf


class Failure(Exception):
    """Describes an expectation that was not met."""


def run(command, timeout=60, stdin=None, **where):
    """Returns the standard output of a command that must succeed. `where` may contain `cwd` and `env`."""
    done = attempt(command, timeout, stdin, **where)
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{(done.stderr or done.stdout)[-3000:]}")
    return done.stdout


def attempt(command, timeout=60, stdin=None, **where):
    """Runs a command that may fail, and returns subprocess.CompletedProcess."""
    command = [str(part) for part in command]
    feed = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, **feed,
                              **where)
    except subprocess.TimeoutExpired:
        raise Failure(f"took longer than {timeout} s: {' '.join(command)}") from None


def end_waits_at(moment):
    """Limits all further waits to end at `moment` (time.monotonic())."""
    global _end_of_scenario
    _end_of_scenario = moment


def pause(waited_seconds):
    """Returns the seconds until the next poll. A long wait polls less often, because each poll is a process and scenarios
    run on two processors."""
    return min(0.5, max(0.25, waited_seconds / 40))


def wait_for(what, seconds, look, describe=None):
    """Polls `look` until it returns something true, and returns that."""
    begin = time.monotonic()
    deadline = begin + seconds
    while True:
        seen = look()
        if seen:
            return seen
        now = time.monotonic()
        if now > min(deadline, _end_of_scenario):
            limit = f"within {seconds} s" if now > deadline else "before the scenario's time was over"
            raise Failure(f"{what}: not {limit}" + (f"; {describe()}" if describe else ""))
        time.sleep(pause(now - begin))
