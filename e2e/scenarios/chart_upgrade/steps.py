"""The chart is upgraded and rolled back under a running job: operators come and go, and none of the job's pods does."""

from runner.world import CORA, ENDLESS

LEVEL = "ci"
SECONDS = 600
NEEDS_OWN_CLUSTER = True
ANOTHER_IMAGE = "localhost/espalier-trainer-of-another-version"


def story(world):
    namespace = world.namespace
    namespace.apply(CORA, epochs=ENDLESS)
    namespace.wait_for_phase("cora", "Training", 120)
    pods = uids(namespace)
    operators = set(world.chart.operator_pods())

    # What new jobs would run: this one keeps what it was accepted with.
    try:
        world.chart.upgrade("operator.replicas=2", "operator.logFormat=text", f"image.trainer={ANOTHER_IMAGE}")
        now = set(world.chart.operator_pods())
        assert len(now) == 2 and not now & operators, (operators, now)
        assert_undisturbed(world, pods, "upgraded to two operators")
    finally:
        world.chart.roll_back()
    assert len(world.chart.operator_pods()) == 1, world.chart.operator_pods()
    assert_undisturbed(world, pods, "rolled back")

    # ... and is obeyed by the operator of before.
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
    job = namespace.wait_for_phase("cora", "Suspended", 90)
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]


def uids(namespace):
    return {name: pod["metadata"]["uid"] for name, pod in namespace.pods("cora").items()}


def assert_undisturbed(world, pods, what):
    status = world.namespace.job("cora")["status"]
    assert status["phase"] == "Training" and status["incarnation"] == 1, (what, status)
    assert ANOTHER_IMAGE not in str(status["images"]), (what, status["images"])
    assert uids(world.namespace) == pods, (what, uids(world.namespace), pods)
    world.note(f"{what}, while training")
