"""The output of users' programs that run in place of the trainer."""

import json

from runner.commands import Failure


def said_by_rank_zero(namespace, job, incarnation, first_field):
    """Returns the last line of JSON that begins with this field."""
    for name, pod in namespace.pods(job, "trainer").items():
        if not name.startswith(f"{job}-trainer-{incarnation}-0-") or pod["status"]["phase"] != "Succeeded":
            continue
        lines = [line for line in namespace.kubectl("logs", name).splitlines() if line.startswith(f'{{"{first_field}"')]
        if lines:
            return json.loads(lines[-1])
    raise Failure(f"rank 0 of {job} logged no result")
