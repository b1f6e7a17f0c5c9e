"""Certificates are renewed while a job trains, and no call fails; certificates of another job are rejected."""

import re

from runner import peer
from runner.commands import wait_for
from runner.world import CORA

LEVEL = "ci"
SECONDS = 900
SERVER, PORT = "cora-server-0-0", 7000
ANSWER, ASK = ("server", "sampler"), ("sampler", "trainer")  # roles
REJECTED_CLIENTS = ("a trainer of another job", "no certificate")
RENEWALS = 2
EPOCHS = "50000"  # more than the scenario lasts; 25 of them are 0.05 %, the smallest change of progress that is reported
REACHES_PODS_SECONDS = 180  # the kubelet updates mounted Secrets every minute, after its cache has expired


def run_steps(world):
    namespace = world.namespace
    namespace.apply(CORA, name="other", epochs="20")
    other_certificate = namespace.wait_for("the other job's certificate", 60,
                                           lambda: peer.trainers_certificate(namespace, "other"))
    namespace.delete_job("other", 60)
    namespace.apply(CORA, epochs=EPOCHS, samplers="1")
    # All processes have connected by then, so that waits at the start do not count as errors.
    namespace.wait_for_checkpoint("cora", 180)

    served = check_accepted_certificates(world, other_certificate)
    calls = calls_of_clients(namespace)
    progress = None
    for renewal in range(1, RENEWALS + 1):
        ends = ends_of_certificates(namespace)
        asked = f"espalier.io/renew-certificates={renewal}"
        namespace.kubectl("annotate", "disttraining", "cora", "--overwrite", asked)
        served = wait_for("another certificate of the server", REACHES_PODS_SECONDS, lambda: renewed(namespace, served))
        namespace.wait_for("another certificate in every pod", REACHES_PODS_SECONDS, lambda: all_later(namespace, ends))
        world.note(f"renewed {renewal} times")
        progress = reported_progress(namespace, progress)
    world.note(f"epoch {progress['epoch']}, {progress['percent']} percent, {progress['metrics']}")
    only_good_answers_were_added(calls, calls_of_clients(namespace))
    check_accepted_certificates(world, other_certificate)

    failed = failed_calls(namespace)
    assert not failed, failed
    # The server has rejected only the expected clients: two with another job's certificate, and two without one.
    refused = {name: refusals(namespace, name) for role in ANSWER for name in namespace.pods("cora", role)}
    assert refused == {name: 2 * len(REJECTED_CLIENTS) if name == SERVER else 0 for name in refused}, refused
    status = namespace.job("cora")["status"]
    assert status["phase"] == "Training" and status["incarnation"] == 1, status
    restarts = {name: container["restartCount"] for name, pod in namespace.pods("cora").items()
                for container in pod["status"]["containerStatuses"]}
    assert not any(restarts.values()), restarts


def reported_progress(namespace, former):
    """Returns the progress of training in the status, once it is of a later epoch than before. The operator reads it from
    the first trainer, which serves it without TLS."""
    def look():
        seen = namespace.job("cora")["status"].get("progress")
        if not seen or not 0 < seen["percent"] < 100 or not seen.get("metrics"):
            return None
        return seen if seen["epoch"] > (former["epoch"] if former else 0) else None

    progress = namespace.wait_for("progress of training in the status", 60, look)
    assert former is None or progress["lastUpdated"] > former["lastUpdated"], (former, progress)
    return progress


def check_accepted_certificates(world, other_certificate):
    """Checks that the server accepts the job's own certificate, and neither another job's nor none. Returns the server's
    certificate."""
    namespace = world.namespace
    own = peer.ask(namespace, SERVER, PORT, peer.trainers_certificate(namespace, "cora"))
    assert own.is_served, own.text
    for client, certificate in zip(REJECTED_CLIENTS, (other_certificate, None), strict=True):
        before = refusals(namespace, SERVER)
        answer = peer.ask(namespace, SERVER, PORT, certificate)
        assert answer.is_refused, (client, answer.text)
        # The server itself has rejected it, not the port-forward.
        namespace.wait_for(f"the server's log of {client}", 20, lambda: refusals(namespace, SERVER) > before)
    return own.certificate


def refusals(namespace, pod):
    return namespace.kubectl("logs", pod).count("TLS handshake failed")


def renewed(namespace, former):
    """Returns the server's certificate if it differs from `former`, else None. Uses the current certificate of trainers."""
    answer = peer.ask(namespace, SERVER, PORT, peer.trainers_certificate(namespace, "cora"))
    assert answer.is_served, answer.text
    return answer.certificate if answer.certificate != former else None


# Calls with which a trainer waits for a tensor that another one creates, as servers count them, and as clients do.
WAITS = ('code="NOT_FOUND",method="DescribeTensor"', 'code="UNAVAILABLE",method="Create"')
CLIENTS_WAITS = ('espalier_client_calls_total{code="NOT_FOUND",method="Describe"}',
                 'espalier_client_retries_total{cause="not_yet",method="Create"}')
CLIENTS_CALLS = re.compile(r"^(espalier_client_(?:calls|retries)_total\{.*\}) (\S+)$", re.MULTILINE)
END = re.compile(r"^espalier_tls_certificate_expiry_timestamp_seconds (\S+)$", re.MULTILINE)


def failed_calls(namespace):
    """Returns (pod, line) of the metrics of servers that count failed calls."""
    answered = [(name, line) for role in ANSWER for name in namespace.pods("cora", role)
                for line in namespace.metrics(name).splitlines() if line.startswith("espalier_rpc_calls_total{")]
    assert answered, "no metrics of calls"
    return [entry for entry in answered if 'code="OK"' not in entry[1] and not any(wait in entry[1] for wait in WAITS)]


def calls_of_clients(namespace):
    """Returns the counts of clients, {pod: {series: count}}: calls by their codes, and retries."""
    return {name: {series: float(count) for series, count in CLIENTS_CALLS.findall(namespace.metrics(name))}
            for role in ASK for name in namespace.pods("cora", role)}


def only_good_answers_were_added(before, after):
    assert set(after) == set(before), (sorted(before), sorted(after))
    for pod, counts in after.items():
        added = {series: count - before[pod].get(series, 0) for series, count in counts.items()}
        good = sum(count for series, count in added.items() if 'code="OK"' in series)
        assert good > 0, f"{pod} has asked nothing while certificates were renewed: {added}"
        bad = {series: count for series, count in added.items()
               if count != 0 and 'code="OK"' not in series and series not in CLIENTS_WAITS}
        assert not bad, (pod, bad)


def all_later(namespace, ends):
    return all(end > ends[pod] for pod, end in ends_of_certificates(namespace).items())


def ends_of_certificates(namespace):
    """Returns the expiry time of each process's certificate file: {pod: Unix time in seconds}."""
    return {name: float(END.search(namespace.metrics(name)).group(1))
            for role in ("server", "sampler", "trainer") for name in namespace.pods("cora", role)}
