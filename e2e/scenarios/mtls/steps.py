"""Certificates are renewed under a job that trains, and no call fails; another job's certificate opens no door."""

from runner import peer
from runner.commands import wait_for
from runner.world import CORA, ENDLESS

LEVEL = "ci"
SECONDS = 900
SERVER, PORT = "cora-server-0-0", 7000
RENEWALS = 2
REACHES_PODS_SECONDS = 180  # a minute and a cache's time on most clusters


def story(world):
    namespace = world.namespace
    namespace.apply(CORA, name="stranger", epochs="20")
    strangers = namespace.wait_for("the stranger's certificate", 60,
                                   lambda: peer.trainers_certificate(namespace, "stranger"))
    namespace.delete_job("stranger", 60)
    namespace.apply(CORA, epochs=ENDLESS, samplers="1")
    namespace.wait_for_phase("cora", "Training", 120)

    served = who_is_let_in(world, strangers)
    for renewal in range(1, RENEWALS + 1):
        asked = f"espalier.io/renew-certificates={renewal}"
        namespace.kubectl("annotate", "disttraining", "cora", "--overwrite", asked)
        served = wait_for("another certificate of the server", REACHES_PODS_SECONDS, lambda: renewed(namespace, served))
        world.note(f"renewed {renewal} times")
    who_is_let_in(world, strangers)

    failed = failed_calls(namespace)
    assert not failed, failed
    status = namespace.job("cora")["status"]
    assert status["phase"] == "Training" and status["incarnation"] == 1, status
    restarts = {name: container["restartCount"] for name, pod in namespace.pods("cora").items()
                for container in pod["status"]["containerStatuses"]}
    assert not any(restarts.values()), restarts


def who_is_let_in(world, strangers):
    """The job's own are; a trainer of another job's and who shows nothing are not. Returns what the server shows."""
    namespace = world.namespace
    own = peer.ask(namespace, SERVER, PORT, peer.trainers_certificate(namespace, "cora"))
    assert own.is_served, own.text
    for who, certificate in (("a trainer of another job", strangers), ("nobody", None)):
        before = refusals(namespace)
        answer = peer.ask(namespace, SERVER, PORT, certificate)
        assert answer.is_refused, (who, answer.text)
        # By the server, not by what lies in between.
        namespace.wait_for(f"the server's word on {who}", 20, lambda: refusals(namespace) > before)
    return own.certificate


def refusals(namespace):
    return namespace.kubectl("logs", SERVER).count("TLS handshake failed")


def renewed(namespace, former):
    """What the server shows once it is something else, to somebody with the trainers' certificate of now."""
    answer = peer.ask(namespace, SERVER, PORT, peer.trainers_certificate(namespace, "cora"))
    assert answer.is_served, answer.text
    return answer.certificate if answer.certificate != former else None


# How a trainer waits for a tensor that another one is about to make.
WAITS = ('code="NOT_FOUND",method="DescribeTensor"', 'code="UNAVAILABLE",method="Create"')


def failed_calls(namespace):
    """Lines of the metrics of whoever answers calls that tell of one that failed."""
    answered = [(name, line) for role in ("server", "sampler") for name in namespace.pods("cora", role)
                for line in namespace.metrics(name).splitlines() if line.startswith("espalier_rpc_calls_total{")]
    assert answered, "no metrics of calls"
    return [entry for entry in answered if 'code="OK"' not in entry[1] and not any(wait in entry[1] for wait in WAITS)]
