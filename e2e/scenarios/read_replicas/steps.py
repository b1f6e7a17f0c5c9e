"""Two servers per partition: all second ones are killed and no trainer waits, then a first one: the same parameters."""

import re

from runner.world import CORA

LEVEL = "full"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # its nodes share a kernel, so each trainer considers all servers near and uses all
READS = re.compile(r'^espalier_rpc_calls_total\{(?=.*code="OK")(?=.*method="(?:GatherRows|SampleNeighbors)").*\} (\S+)$',
                   re.MULTILINE)
FIRST_SERVER = "cora-server-0-0"
SECOND_SERVERS = ("cora-server-1-0", "cora-server-1-1")


def run_steps(world):
    world.train_undisturbed()  # with one server per partition
    namespace = world.namespace
    namespace.apply(CORA, server_replicas="2")
    namespace.wait_for_checkpoint("cora", 120)
    for pod in SECOND_SERVERS:
        assert reads(namespace, pod) > 0, f"{pod} was asked nothing: that it dies would show nothing"

    running = [pod for pod in namespace.pods("cora").values() if pod["status"]["phase"] == "Running"]
    namespace.set_quota(pods=len(running) - len(SECOND_SERVERS))  # no room for replacements
    killed = kill(namespace, *SECOND_SERVERS)
    world.note("killed: the second server of each partition")
    namespace.wait_until_it_trains("cora", 120)
    assert not set(SECOND_SERVERS) & set(namespace.pods("cora", "server")), "they were back while it trained"
    namespace.set_quota(pods=20)
    wait_until_back(namespace, killed)
    namespace.wait_until_it_trains("cora", 120)
    assert namespace.job("cora")["status"]["incarnation"] == 1, namespace.job("cora")["status"]

    killed = kill(namespace, FIRST_SERVER)
    world.note("killed: the first server of a partition")
    wait_until_back(namespace, killed)
    namespace.wait_until_it_trains("cora", 120)

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    world.note(f"ended as incarnation {job['status']['incarnation']}")
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")


def reads(namespace, pod):
    """Returns the number of calls for rows and neighbors that a server has served."""
    return sum(float(count) for count in READS.findall(namespace.metrics(pod)))


def kill(namespace, *names):
    """Kills pods of these names; returns their uids by name."""
    pods = namespace.pods("cora", "server")
    for name in names:
        namespace.kill(name)
    return {name: pods[name]["metadata"]["uid"] for name in names}


def wait_until_back(namespace, killed):
    """Waits until the replacements of the killed pods are ready."""
    def are_back():
        pods = namespace.pods("cora", "server")
        return all(name in pods and pods[name]["metadata"]["uid"] != uid and is_ready(pods[name])
                   for name, uid in killed.items())

    namespace.wait_for(f"{', '.join(killed)} again", 90, are_back)


def is_ready(pod):
    return any(condition["type"] == "Ready" and condition["status"] == "True"
               for condition in pod["status"].get("conditions", []))
