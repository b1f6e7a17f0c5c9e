"""Other programs' commands with a deadline, and polling with a deadline."""

import math
import subprocess
import time

# When the story that is told has to be over (time.monotonic()).
_end_of_story = math.inf


class Failure(Exception):
    """An expectation that was not met, in words."""


def run(command, timeout=60, stdin=None, **where):
    """Standard output of a command that must succeed. `where` may say `cwd` and `env`."""
    done = attempt(command, timeout, stdin, **where)
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{(done.stderr or done.stdout)[-3000:]}")
    return done.stdout


def attempt(command, timeout=60, stdin=None, **where):
    """The same where failing is an answer too."""
    command = [str(part) for part in command]
    feed = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, **feed,
                              **where)
    except subprocess.TimeoutExpired:
        raise Failure(f"took longer than {timeout} s: {' '.join(command)}") from None


def end_waits_at(moment):
    """Until it is told another moment, no wait goes on beyond this one."""
    global _end_of_story
    _end_of_story = moment


def pause(waited_seconds):
    """Until the next look. Each look is a process, and stories are told on two processors: who has waited for long looks
    less often."""
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
        if now > min(deadline, _end_of_story):
            limit = f"within {seconds} s" if now > deadline else "before the story's time was over"
            raise Failure(f"{what}: not {limit}" + (f"; {describe()}" if describe else ""))
        time.sleep(pause(now - begin))
