"""Jobs with different histories, and the changes that a user makes to some of them while they run."""

from .jobs import condition, expected_children, phase, training

NEVER = "never"  # the first incarnation runs until it is stopped


def _suspend_and_resume(api, namespace, job, done):
    if done == 0 and phase(job) == "Training":
        _patch(api, namespace, job, {"runPolicy": {"suspend": True}})
        return 1
    if done == 1 and phase(job) == "Suspended":
        _patch(api, namespace, job, {"runPolicy": {"suspend": False}})
        return 2
    return done


def _scale(api, namespace, job, done):
    if done == 0 and phase(job) == "Training":
        _patch(api, namespace, job, {"trainers": {"replicas": 3}})
        return 1
    return done


def _patch(api, namespace, job, spec):
    api.patch("DistTraining", namespace, job["metadata"]["name"], {"spec": spec})


# name: (arguments of training(), function that changes the job: (api, namespace, job, steps done) -> steps done)
LIVES = {
    "plain": ({}, None),
    "bug": ({"ends": (70,)}, None),
    "suspended": ({"ends": (NEVER,)}, _suspend_and_resume),
    "input": ({"ends": (65,)}, None),
    "scaled": ({"ends": (NEVER,)}, _scale),
    "store": ({"partition_ends": (74,)}, None),
    "memory": ({"ends": (137,)}, None),
    "stopped": ({"ends": (75,)}, None),
    "document": ({"partition_ends": (64,)}, None),
    "exhausted": ({"ends": (70, 70), "run_policy": {"backoffLimit": 1}}, None),
    "sampled": ({"samplers": 1, "run_policy": {"cleanPodPolicy": "None"}}, None),
    "cleaned": ({"ends": (75, 70), "run_policy": {"cleanPodPolicy": "All"}}, None),
}


def documents(count):
    """Returns `count` jobs with the histories in turn, each named after its history."""
    lives = list(LIVES)
    return [training(f"{lives[i % len(lives)]}-{i // len(lives)}", **LIVES[lives[i % len(lives)]][0])
            for i in range(count)]


class Outside:
    """Applies the changes of the histories to the jobs, one step at a time."""

    def __init__(self, api, namespace):
        self.api = api
        self.namespace = namespace
        self.done = {}

    def look(self, jobs):
        for job in jobs:
            name = job["metadata"]["name"]
            act = LIVES[name.rsplit("-", 1)[0]][1]
            if act:
                self.done[name] = act(self.api, self.namespace, job, self.done.get(name, 0))


def outcome_of(job):
    """Returns the final state of the job, which must not depend on kills of the operator."""
    status = job["status"]
    return {
        "phase": phase(job), "incarnation": status["incarnation"], "attempts": status["attempts"],
        "trainers": status["trainerReplicas"], "reason": condition(job, phase(job)).get("reason"),
        "lastError": {key: status.get("lastError", {}).get(key) for key in ("reason", "role", "exitCode")},
        "partition": status.get("partition"),
        "children": {kind: sorted(names) for kind, names in expected_children(job).items()}}
