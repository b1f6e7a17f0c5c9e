"""A server, a trainer, a sampler and the operator are killed under one job: the same parameters as undisturbed."""

from runner.world import CORA

LEVEL = "ci"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # no API kills a process
# The roles that are killed, and whether their failure always restarts the trainers; otherwise trainers may just wait.
VICTIMS = {"server": False, "trainer": True, "sampler": False, "operator": False}


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA, samplers="1")
    namespace.wait_for_checkpoint("cora", 120)
    for victim, begins_anew in VICTIMS.items():
        before = namespace.job("cora")["status"]["incarnation"]
        kill(world, victim)
        if begins_anew:
            namespace.wait_for("a new incarnation", 60, lambda: namespace.job("cora")["status"]["incarnation"] > before)
        world.note(f"killed: {victim}")
        if victim != "operator":
            namespace.wait_until_it_trains("cora", 120)

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    world.note(f"ended as incarnation {job['status']['incarnation']}")
    # The trainer had no time to exit with 75, which would not be counted.
    assert job["status"]["attempts"]["counted"] == 1, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")


def kill(world, victim):
    if victim == "operator":
        before = world.chart.operator_pods()
        world.chart.kill_operator()
        world.chart.wait_for_operator()
        assert not set(before) & set(world.chart.operator_pods()), before
        return
    world.namespace.replace("cora", victim, min(world.namespace.pods("cora", victim)))
