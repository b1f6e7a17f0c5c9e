"""A pod of each role is killed in the middle of training, and the operator too: the same parameters as undisturbed."""

import pathlib

LEVEL = "ci"
SECONDS = 480
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
# Who is killed, and the incarnations that the job may end with: only trainers always begin anew.
VICTIMS = {"operator": {1}, "sampler": {1, 2}, "server": {1, 2}, "trainer": {2}}


def story(world):
    undisturbed = world.undisturbed_models(MANIFEST)
    world.note(f"undisturbed: {undisturbed}")
    for victim, incarnations in VICTIMS.items():
        namespace = world.namespace
        namespace.apply(MANIFEST)
        namespace.wait_for_checkpoint("cora", 90)
        kill(world, victim)
        job = namespace.wait_for_phase("cora", "Succeeded", 180)
        world.note(f"killed {victim}: ended as incarnation {job['status']['incarnation']}")
        assert namespace.models("cora") == undisturbed, (victim, namespace.models("cora"))
        assert job["status"]["incarnation"] in incarnations, (victim, job["status"])
        namespace.delete_job("cora", 60)


def kill(world, victim):
    if victim == "operator":
        before = world.chart.operator_pods()
        world.chart.kill_operator()
        world.chart.wait_for_operator()
        assert not set(before) & set(world.chart.operator_pods()), before
        return
    pods = world.namespace.pods("cora", victim)
    before = {pod["metadata"]["uid"] for pod in pods.values()}
    world.namespace.kill(sorted(pods)[0])
    # Another one takes its place; that a job never noticed would prove nothing.
    world.namespace.wait_for_other_pods("cora", victim, before, 90)
