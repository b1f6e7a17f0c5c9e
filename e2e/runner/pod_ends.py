"""Results of the programs of pods, also of deleted ones: a Job deletes its running pods when one fails."""

import contextlib
import dataclasses
import json
import subprocess
import threading

from runner.commands import wait_for

# One event per line.
EVERY_POD = ["kubectl", "get", "pods", "--watch", "--output=jsonpath={@}{\"\\n\"}"]


@dataclasses.dataclass(frozen=True)
class End:
    exit_code: int
    message: str  # what the container left in its termination log


class PodEnds:
    def __init__(self, lines):
        self._ends, self._ranks = {}, {}
        self._thread = threading.Thread(target=self._read, args=(lines,))
        self._thread.start()

    def ended(self, job, rank, incarnation):
        """Returns how the program of a rank ended in this incarnation of a job; None if it has not ended."""
        return self._ends.get((job, incarnation, rank))

    def wait_for(self, job, rank, incarnation, seconds):
        return wait_for(f"the end of rank {rank} of {job}", seconds, lambda: self.ended(job, rank, incarnation))

    def rank_of(self, pod):
        return self._ranks[pod]

    def join(self):
        self._thread.join()

    def _read(self, lines):
        for line in lines:
            pod = json.loads(line)
            about = pod["metadata"]
            rank = int(about["annotations"]["batch.kubernetes.io/job-completion-index"])
            self._ranks[about["name"]] = rank
            place = (about["labels"]["espalier.io/job"], int(about["labels"]["espalier.io/incarnation"]), rank)
            for container in pod["status"].get("containerStatuses", []):
                ended = container["state"].get("terminated")
                if container["name"] == "trainer" and ended:
                    self._ends[place] = End(ended["exitCode"], ended.get("message", ""))


@contextlib.contextmanager
def followed(namespace, role):
    """Records how the namespace's pods of this role end, from now on."""
    watch = subprocess.Popen([*EVERY_POD, "--namespace", namespace.name,
                              "--selector", f"app.kubernetes.io/component={role}"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    ends = PodEnds(watch.stdout)
    try:
        yield ends
    finally:
        watch.terminate()
        watch.wait()
        ends.join()
        watch.stdout.close()
