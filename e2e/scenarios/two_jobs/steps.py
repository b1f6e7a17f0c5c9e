"""Two jobs side by side make the same partitions and come to the same parameters; one goes, the other stays."""

from runner.world import CORA

LEVEL = "full"
SECONDS = 720
JOBS = ("left", "right")


def story(world):
    undisturbed = world.undisturbed_models()
    namespace = world.namespace
    for name in JOBS:
        namespace.apply(CORA, name=name)
    ended = {name: namespace.wait_for_phase(name, "Succeeded", 480) for name in JOBS}
    for name, job in ended.items():
        assert namespace.models(name) == undisturbed, (name, namespace.models(name))
        assert job["status"]["incarnation"] == 1, (name, job["status"])
    # Partitions go by what they are made of, so both have found or made the same.
    assert len({job["status"]["partition"]["hash"] for job in ended.values()}) == 1, ended

    # Its own end takes its servers.
    namespace.wait_until_gone("the servers of right", 60, lambda: list(namespace.pods("right", "server")))
    before = uids(namespace, "right")
    namespace.delete_job("left", 60)
    assert uids(namespace, "right") == before, (uids(namespace, "right"), before)
    assert namespace.result("right")["testAccuracy"] > 0, "outputs of one went with the other"


def uids(namespace, job):
    return {item["metadata"]["uid"] for item in namespace.objects("pods,jobs,configmaps,secrets,services", job)}
