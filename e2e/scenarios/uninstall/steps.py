"""The chart is uninstalled under a running job: it trains to its end, and the next operator detects the end."""

from runner.world import CORA

LEVEL = "full"
SECONDS = 600


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_phase("cora", "Training", 120)
    before = namespace.job("cora")["metadata"]["uid"]

    world.chart.uninstall()
    assert namespace.job("cora")["metadata"]["uid"] == before, "the chart took the DistTraining with it"
    namespace.wait_for("the trainers' end without an operator", 300, lambda: all(
        pod["status"]["phase"] == "Succeeded" for pod in namespace.pods("cora", "trainer").values()))
    status = namespace.job("cora")["status"]
    assert status["phase"] == "Training", status  # no operator has changed it
    world.note("trained to the end without an operator")

    world.chart.install()
    job = namespace.wait_for_phase("cora", "Succeeded", 60)
    assert job["status"]["incarnation"] == 1, job["status"]
    world.expect_as_undisturbed("cora")
