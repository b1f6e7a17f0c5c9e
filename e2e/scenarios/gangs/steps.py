"""Two jobs each need more than half of the nodes: one runs as a whole; no trainer of the other runs until all of them can."""

import collections
import datetime
import json
import pathlib

from runner.commands import Failure
from runner.machines import extended_resource

LEVEL = "full"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # its nodes offer another resource for a while
NEEDS_API = "scheduling.k8s.io/v1beta1"
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
RESOURCE = "example.com/accelerator"  # each trainer of job.yaml takes one
PER_NODE = 2
ENDED = ("Succeeded", "Failed")
# While a job trains, another one must reach its trainers, which takes about 20 s; 400 epochs take more than twice as long.
EPOCHS = 400


def run_steps(world):
    world.chart.install("gangScheduling.enabled=true")
    try:
        with extended_resource(RESOURCE, PER_NODE) as nodes:
            assert nodes >= 2, "with one node, a job of more than half leaves nothing free"
            Gangs(world, capacity=PER_NODE * nodes, members=PER_NODE * nodes // 2 + 1).run()
    finally:
        world.chart.install("gangScheduling.enabled=false")


class Gangs:
    """`capacity`: trainers that all nodes take at the same time; `members`: trainers of each job."""

    def __init__(self, world, capacity, members):
        self.world = world
        self.namespace = world.namespace
        self.capacity = capacity
        self.members = members

    def run(self):
        self.apply("first", EPOCHS)
        self.namespace.wait_for_phase("first", "Training", 240)
        assert self.held() == {"first": self.members}, self.held()
        self.expect_a_group("first")

        self.apply("second", EPOCHS)
        before = self.wait_as_a_whole("second")
        self.wait_for_trainers_after("first", "second")
        self.namespace.wait_for_phase("second", "Training", 120)
        self.expect_the_same_trainers("second", before)
        self.expect_room_when_scheduled("first", "second")

        self.run_without_a_gang("single", beside="second")
        for job in ("second", "single"):
            status = self.namespace.wait_for_phase(job, "Succeeded", 300)["status"]
            assert status["incarnation"] == 1 and status["attempts"]["counted"] == 0, status
        for job in ("first", "second", "single"):
            self.namespace.delete_job(job, 60)
        self.namespace.wait_until_gone("all PodGroups", 90, self.groups)

    def apply(self, name, epochs, scheduling=""):
        self.namespace.apply(MANIFEST, name=name, epochs=str(epochs), trainers=str(self.members), scheduling=scheduling)

    def wait_as_a_whole(self, job):
        """Waits for the condition of a job whose trainers wait together. Returns the trainers' uids."""
        self.namespace.wait_for_condition(job, "TrainersReady", "False", "Unschedulable", 120)
        message = self.namespace.condition(job, "TrainersReady")["message"]
        assert message.startswith(f"the {self.members} pods of spec.trainers start together or not at all, and wait for "
                                  f"free nodes: PodGroup {job}-trainer-1: "), message
        self.world.note(f"{job}: {message}")
        trainers = self.namespace.uids(job, "trainer")
        assert len(trainers) == self.members, trainers
        # Nodes for some of its trainers are free.
        assert self.held() == {"first": self.members}, self.held()
        return trainers

    def wait_for_trainers_after(self, former, job):
        """Waits until `former` has succeeded, and all trainers of `job` have a node. Fails if one of them has a node while
        there is no room for all."""
        def look():
            held = self.held()
            if held[job] > 0 and held[former] + self.members > self.capacity:
                raise Failure(f"trainers with a node: {held[former]} of {former} and {held[job]} of {job}, expected none of "
                              f"{job}: the nodes take {self.capacity}, and {job} has {self.members}")
            return held[job] == self.members and held[former] == 0

        self.namespace.wait_for(f"{self.members} trainers of {job} on nodes", 300, look)
        self.namespace.wait_for_phase(former, "Succeeded", 60)

    def expect_the_same_trainers(self, job, before):
        """The pods that waited are those that run."""
        status = self.namespace.job(job)["status"]
        assert status["incarnation"] == 1, status
        assert self.namespace.uids(job, "trainer") == before, (self.namespace.uids(job, "trainer"), before)
        self.expect_a_group(job)

    def expect_room_when_scheduled(self, former, job):
        """So many trainers of `former` had ended before the first trainer of `job` got its node that there was room for
        all."""
        ended = sorted(_time(status["state"]["terminated"]["finishedAt"])
                       for pod in self.namespace.pods(former, "trainer").values()
                       for status in pod["status"]["containerStatuses"])
        scheduled = sorted(_time(condition["lastTransitionTime"])
                           for pod in self.namespace.pods(job, "trainer").values()
                           for condition in pod["status"]["conditions"] if condition["type"] == "PodScheduled")
        assert len(ended) == len(scheduled) == self.members, (ended, scheduled)
        needed = 2 * self.members - self.capacity
        assert ended[needed - 1] <= scheduled[0], (ended, scheduled)
        self.world.note(f"{job}: all {self.members} trainers got nodes within {scheduled[-1] - scheduled[0]:.0f} s")

    def run_without_a_gang(self, job, beside):
        """A job with `gang: Never` holds the nodes that are free, while its other trainers wait."""
        self.apply(job, epochs=10, scheduling="gang: Never")
        free = self.capacity - self.members
        self.namespace.wait_for(f"{free} of {self.members} trainers of {job} on nodes", 120,
                                lambda: self.held() == {beside: self.members, job: free})
        assert not [name for name in self.groups() if name.startswith(job)], self.groups()
        self.world.note(f"{job}, without a gang: {free} of {self.members} trainers hold nodes")

    def held(self):
        """Returns {job: number of its trainers that have a node and have not ended}, all seen at the same time."""
        listed = json.loads(self.namespace.kubectl("get", "pods", "--selector", "app.kubernetes.io/component=trainer",
                                                   "--output=json"))["items"]
        return collections.Counter(pod["metadata"]["labels"]["espalier.io/job"] for pod in listed
                                   if pod["spec"].get("nodeName") and pod["status"]["phase"] not in ENDED)

    def expect_a_group(self, job):
        groups = self.groups()
        assert f"{job}-trainer-1" in groups, sorted(groups)
        policy = groups[f"{job}-trainer-1"]["spec"]["schedulingPolicy"]
        assert policy["gang"]["minCount"] == self.members, policy

    def groups(self):
        listed = json.loads(self.namespace.kubectl("get", "podgroups", "--output=json"))["items"]
        return {group["metadata"]["name"]: group for group in listed}


def _time(text):
    return datetime.datetime.fromisoformat(text).timestamp()
