"""Checks the child objects of completed jobs, and that they are deleted with their jobs."""

import collections
import concurrent.futures

from .cluster import OURS
from .jobs import COMPONENT, LABEL, expected_children, expected_pods, label, phase
from .processes import wait_until

OWNED = ("Service", "ServiceAccount", "NetworkPolicy", "ConfigMap", "Secret", "Job", "StatefulSet",
         "PodDisruptionBudget")
COMPONENTS = ("job", "partitioner", "server", "sampler", "trainer")


def _list_all(plane, namespace, kinds):
    return {kind: plane.api.list(kind, namespace, OURS) for kind in kinds}


def _by_job(things):
    found = collections.defaultdict(list)
    for thing in things:
        found[label(thing, LABEL)].append(thing)
    return found


def _is_owned_by(child, owner):
    references = child["metadata"].get("ownerReferences", [])
    return len(references) == 1 and references[0]["uid"] == owner["metadata"]["uid"] and \
        references[0].get("controller") and references[0].get("blockOwnerDeletion")


def _wrong_pods(job, pods, owners):
    name = job["metadata"]["name"]
    wrong = [f"{name}: the controller of pod {pod['metadata']['name']} is none of its children" for pod in pods
             if not any(_is_owned_by(pod, owner) for owner in owners)]
    found = collections.Counter(label(pod, COMPONENT) for pod in pods)
    if phase(job) == "Succeeded" and found != collections.Counter(expected_pods(job)):
        wrong.append(f"{name}: pods {dict(found)}, expected {expected_pods(job)}")
    return wrong


def wrong_children(plane, namespace):
    """Returns messages about missing and surplus children, wrong labels and wrong owners. All jobs must have ended."""
    jobs = plane.api.list("DistTraining", namespace)
    there = {kind: _by_job(things) for kind, things in _list_all(plane, namespace, (*OWNED, "Pod")).items()}
    wrong = []
    for kind, by_job in there.items():
        foreign = set(by_job) - {job["metadata"]["name"] for job in jobs}
        wrong += [f"{kind} {thing['metadata']['name']} of no job" for name in foreign for thing in by_job[name]]
    for job in jobs:
        name = job["metadata"]["name"]
        for kind, names in expected_children(job).items():
            children = there[kind][name]
            found = {child["metadata"]["name"] for child in children}
            if found != names:
                wrong.append(f"{name}: {kind} {sorted(found)}, expected {sorted(names)}")
            wrong += [f"{kind} {child['metadata']['name']} is not owned by {name} alone" for child in children
                      if not _is_owned_by(child, job)]
            wrong += [f"{kind} {child['metadata']['name']} is labeled {label(child, COMPONENT)}" for child in children
                      if label(child, COMPONENT) not in COMPONENTS]
        wrong += _wrong_pods(job, there["Pod"][name], there["Job"][name] + there["StatefulSet"][name])
    return wrong


def await_right_children(plane, namespace, seconds):
    """Returns the messages that remain when the time is over: children are deleted shortly after their job has ended."""
    wrong = []
    def all_right():
        wrong[:] = wrong_children(plane, namespace)
        return not wrong
    try:
        wait_until(all_right, seconds, "the children are right", every=0.5)
    except TimeoutError:
        pass
    return wrong


def create_all(plane, namespace, documents):
    """Creates the jobs as fast as one client can."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda document: plane.api.create(document, namespace), documents))


def delete_all(plane, namespace):
    """Deletes the namespace's jobs. Returns the objects that remain after a timeout, by kind."""
    names = [job["metadata"]["name"] for job in plane.api.list("DistTraining", namespace)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: plane.api.delete("DistTraining", namespace, name), names))
    left = []
    def nothing_is_left():
        left[:] = [f"{kind} {thing['metadata']['name']}"
                   for kind, things in _list_all(plane, namespace, (*OWNED, "Pod")).items() for thing in things]
        return not left
    try:
        wait_until(nothing_is_left, 30 + 1.5 * len(names), "the children are gone", every=1)
    except TimeoutError:
        pass
    return left
