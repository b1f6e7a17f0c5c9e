"""Two servers per pod with one copy of a partition: a second one is killed, then a first one: the same parameters."""

import re

from runner import containers
from runner.namespace import ADMIN_PORT
from runner.world import CORA

LEVEL = "full"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # no API kills a container; all servers are near to every trainer, which then uses all of them
PODS = ("cora-server-0-0", "cora-server-0-1")
SERVERS = ("server", "server-1")  # containers of each: the first holds what can be written
READS = r'^espalier_rpc_calls_total\{(?=.*code="OK")(?=.*method="(?:GatherRows|SampleNeighbors)").*\} (\S+)$'
FROM_STORE, FROM_CACHE = (r'^espalier_partition_copied_bytes\{(?=.*from="%s").*\} (\S+)$' % where
                          for where in ("store", "cache"))


def run_steps(world):
    world.train_undisturbed()  # with one server per partition
    namespace = world.namespace
    namespace.apply(CORA, server_containers=str(len(SERVERS)))
    namespace.wait_for_checkpoint("cora", 120)
    pods = namespace.pods("cora", "server")
    assert set(pods) == set(PODS), sorted(pods)
    uids = namespace.uids("cora", "server")
    for pod in PODS:
        expect_one_copy(world, pod)
        for server in SERVERS:
            assert value(namespace, pod, server, READS) > 0, f"{server} of {pod} was asked nothing"

    restarts = {(pod, server): 0 for pod in PODS for server in SERVERS}
    assert restarts_of(namespace) == restarts, restarts_of(namespace)
    for pod, server in ((PODS[0], SERVERS[1]), (PODS[1], SERVERS[0])):
        containers.kill(namespace.pods("cora", "server")[pod], server)
        world.note(f"killed: {server} of {pod}")
        restarts[pod, server] += 1
        namespace.wait_for(f"{server} of {pod} again", 90, lambda: is_back(namespace, pod, server))
        # The kubelet restarts the container in its pod, and it uses the existing copy.
        assert namespace.uids("cora", "server") == uids, (namespace.uids("cora", "server"), uids)
        assert restarts_of(namespace) == restarts, restarts_of(namespace)
        assert value(namespace, pod, server, FROM_STORE) == 0, f"{server} of {pod} has fetched the partition again"
        assert value(namespace, pod, server, FROM_CACHE) > 0, f"{server} of {pod} has no copy"
        namespace.wait_until_it_trains("cora", 120)
        if server != SERVERS[0]:
            assert namespace.job("cora")["status"]["incarnation"] == 1, namespace.job("cora")["status"]

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    world.note(f"ended as incarnation {job['status']['incarnation']}")
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")


def expect_one_copy(world, pod):
    """Checks that each file was downloaded once, by any of the pod's servers, and that the other one found the copy."""
    fetched, found = ([value(world.namespace, pod, server, where) for server in SERVERS]
                      for where in (FROM_STORE, FROM_CACHE))
    world.note(f"{pod}: fetched {fetched} bytes, found {found}")
    for of_one in map(sum, zip(fetched, found)):
        assert 0 < of_one == sum(fetched), f"{pod}: fetched {fetched} bytes, found {found}"


def value(namespace, pod, server, pattern):
    """Returns the sum of a server's metrics that match."""
    metrics = namespace.metrics(pod, ADMIN_PORT + SERVERS.index(server))
    return sum(map(float, re.findall(pattern, metrics, re.MULTILINE)))


def statuses(namespace):
    """Returns the statuses of the servers' containers: {(pod, container): status}."""
    return {(name, container["name"]): container for name, pod in namespace.pods("cora", "server").items()
            for container in pod["status"].get("containerStatuses", [])}


def restarts_of(namespace):
    return {where: container["restartCount"] for where, container in statuses(namespace).items()}


def is_back(namespace, pod, server):
    container = statuses(namespace)[pod, server]
    return container["restartCount"] > 0 and container["ready"]
