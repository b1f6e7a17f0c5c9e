"""Causes each alert by a real fault and expects that it fires, by the chart's rules with an hour shortened to two minutes."""

import contextlib
import datetime
import itertools
import pathlib

from observability.dashboards import dashboard, filled_in
from runner import given_certificates, peer
from runner.admission import Webhook
from runner.alerts import Alerts
from runner.containers import memory_limit
from runner.machines import full_nodes
from runner.world import ENDLESS

LEVEL = "full"
SECONDS = 1500
NEEDS_OWN_CLUSTER = True  # needs its Prometheus, stops its store and changes control groups
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
ORDINARY = {"epochs": ENDLESS, "samplers": "0", "trainers": "1", "trainer_memory": "768Mi", "batch_size": "140",
            "fanout": "10", "evaluate_every": "20", "checkpoint_seconds": "5", "tls": "{mode: Managed}",
            "suspend": "false", "backoff_limit": "20"}
SERVER_PORT = 7000
# A method that the scenario calls with an empty message, which no client of Espalier sends.
INVALID_CALL = "/espalier.graph.v1.GraphStore/InDegrees"
# Only an operator that does not detect the end of trainers causes these alerts; promtool's tests cover them.
BROKEN_OPERATOR_ALERTS = ("EspalierJobNotEnding", "EspalierJobNotRestarting")
MAX_EVICTIONS = 8  # three within two minutes are enough
# The new memory limit as a multiple of the memory in use. The use is then above nine tenths of the limit, and the rest of
# the limit suffices for the memory that the kernel accounts to the process.
TIGHT = 1.07


def run_steps(world):
    alerts = Alerts(world.prometheus, world.note)
    slow = create_jobs(world, alerts)
    world.namespace.wait_for_phase("busy", "Training", 300)
    send_invalid_calls(world, alerts)
    block_status_writes(world, alerts)
    evict_trainers(world, alerts)
    kill_server_without_free_nodes(world, alerts)
    stop_store(world, alerts)
    for alert in slow:
        alert.wait(360)
    lower_memory_limit(world, alerts)
    stop_operator(world, alerts)
    alerts.check_all_have_fired(but_for=BROKEN_OPERATOR_ALERTS)


def by_operator(world, job):
    """Returns the labels of the operator's metrics of a job."""
    return {"job_namespace": world.namespace.name, "job_name": job}


def by_pods(world, job):
    """Returns the labels of the metrics of a job's pods."""
    return {"namespace": world.namespace.name, "espalier_io_job": job}


def of_operator(world):
    return {"namespace": world.chart.NAMESPACE}


def apply(world, name, **changes):
    world.namespace.apply(MANIFEST, name=name, **{**ORDINARY, **changes})


def create_jobs(world, alerts):
    """Creates all jobs of the scenario. Returns the alerts that need only time to fire."""
    slow = [alerts.expect("EspalierJobNotPartitioned", **by_operator(world, "unpartitioned")),
            alerts.expect("EspalierCertificateExpiring", namespace=world.namespace.name, pod="steady-server-0-0"),
            alerts.expect("EspalierCheckpointTooOld", **by_pods(world, "steady")),
            alerts.expect("EspalierJobNotStarting", **by_operator(world, "waiting")),
            alerts.expect("EspalierJobFailed", **by_operator(world, "failing"))]
    apply(world, "unpartitioned", secret="made-never")
    apply(world, "busy", trainers="2", samplers="1")
    # Writes few checkpoints, has certificates that are not renewed, and uses a constant amount of memory.
    apply(world, "steady", checkpoint_seconds="3600", tls="{mode: SecretRef, secretName: given}", batch_size="8",
          fanout="2", evaluate_every="1000000")
    give_certificates(world.namespace, "steady", "given")
    apply(world, "waiting", trainer_memory="1Pi")
    apply(world, "failing", graph=world.bucket.uri("there-is-no-such-graph"), backoff_limit="0")
    apply(world, "edited", suspend="true")
    return slow


def give_certificates(namespace, job, secret):
    uid = namespace.job(job)["metadata"]["uid"]
    namespace.create_secret(secret, given_certificates.make(namespace.name, uid, ("server", "trainer"),
                                                            datetime.timedelta(hours=2)))


def send_invalid_calls(world, alerts):
    """Calls servers that have no other clients, with the job's own certificate."""
    namespace = world.namespace
    errors = alerts.expect("EspalierRpcErrors", **by_pods(world, "waiting"))
    namespace.wait_for_condition("waiting", "TrainersReady", "False", "Unschedulable", 240)
    certificate = peer.trainers_certificate(namespace, "waiting")

    def ask():
        answer = peer.ask(namespace, "waiting-server-0-0", SERVER_PORT, certificate, INVALID_CALL)
        assert not answer.is_refused and not answer.is_served, answer.text

    errors.wait(120, prod=ask)
    check_panel_of_errors(world, "waiting")


def check_panel_of_errors(world, job):
    """Checks the panel of errors in a job's dashboard, which is empty without errors: method and code of each error."""
    panel, = [panel for panel in dashboard("job").panels if panel.title == "Errors per second"]
    query, = panel.queries
    expression = filled_in(query.expression, {"namespace": world.namespace.name, "job": job}, "15s")
    found = world.prometheus.over(expression, 300)
    drawn = {labels["method"]: max(value for _, value in values) for labels, values in found}
    # Servers count a method under the last part of its name.
    assert drawn.get(INVALID_CALL.rpartition("/")[2], 0) > 0, (expression, found)
    assert all(labels["code"] not in ("", "OK") for labels, _ in found), found


def block_status_writes(world, alerts):
    """A webhook for one job's status first does not respond, then is unreachable, so that the API server rejects writes."""
    namespace = world.namespace
    namespace.wait_for_phase("edited", "Suspended", 60)
    stuck = alerts.expect("EspalierReconcileStuck", **of_operator(world))
    errors = [alerts.expect(name, **of_operator(world))
              for name in ("EspalierReconcileErrors", "EspalierApiServerErrors")]
    numbers = itertools.count(1)

    def edit():
        """Changes the generation of the document, so that the operator must write the status."""
        namespace.kubectl("scale", "disttraining", "edited", f"--replicas={1 + next(numbers) % 2}")

    def touch():
        """Makes the operator reconcile the job again, whose status has not been written."""
        mark = f"e2e.espalier.io/touched={next(numbers)}"
        namespace.kubectl("annotate", "disttraining", "edited", "--overwrite", mark)

    with Webhook(namespace, "edited") as webhook:
        stuck.wait(120, prod=edit)
        webhook.refuse()
        for alert in errors:
            alert.wait(180, prod=touch)


def evict_trainers(world, alerts):
    """Evicts trainers repeatedly. Failures of trainers would be counted and delayed by growing pauses."""
    restarting = alerts.expect("EspalierJobRestarting", **by_operator(world, "busy"))
    for _ in range(MAX_EVICTIONS):
        if restarting.has_fired():
            break
        evict_a_trainer(world.namespace)
    restarting.wait(30)


def evict_a_trainer(namespace):
    """Evicts a trainer of the newest incarnation after the trainers have connected: a trainer that still loads its libraries
    does not notice that another one has ended."""
    incarnation = namespace.job("busy")["status"]["incarnation"]

    def ready():
        return [name for name, pod in namespace.pods("busy", "trainer").items()
                if pod["metadata"]["labels"]["espalier.io/incarnation"] == str(incarnation)
                and is_ready(pod) and "deletionTimestamp" not in pod["metadata"]]

    namespace.evict(min(namespace.wait_for(f"a trainer of incarnation {incarnation}", 150, ready)))
    namespace.wait_for(f"the incarnation after {incarnation}", 90,
                       lambda: namespace.job("busy")["status"]["incarnation"] > incarnation)


def is_ready(pod):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))


def kill_server_without_free_nodes(world, alerts):
    """Kills a server while no node accepts pods: trainers and sampler retry their calls and make no step."""
    namespace = world.namespace
    trains(namespace)
    expected = [alerts.expect(name, **by_pods(world, "busy"))
                for name in ("EspalierServerUnreachable", "EspalierJobStuck")]
    with full_nodes():
        namespace.kill("busy-server-0-0")
        for alert in expected:
            alert.wait(180)
    trains(namespace)


def trains(namespace):
    namespace.wait_for_phase("busy", "Training", 240)
    namespace.wait_until_it_trains("busy", 180)


def stop_store(world, alerts):
    expected = [alerts.expect(name, **by_pods(world, "busy"))
                for name in ("EspalierStorageErrors", "EspalierCheckpointsFailing")]
    with world.machines.without_store():
        for alert in expected:
            alert.wait(180)


def lower_memory_limit(world, alerts):
    """Lowers a trainer's memory limit to a little more than it uses."""
    namespace = world.namespace
    [(name, pod)] = [(name, pod) for name, pod in namespace.pods("steady", "trainer").items()
                     if pod["status"]["phase"] == "Running"]
    near = alerts.expect("EspalierMemoryNearLimit", namespace=namespace.name, pod=name, container="trainer")
    [(_, used)] = world.prometheus.now(
        f'max_over_time(espalier_process_unreclaimable_bytes{{namespace="{namespace.name}", pod="{name}"}}[30s])')
    with memory_limit(pod, int(TIGHT * used)):
        near.wait(60)


def stop_operator(world, alerts):
    """First no operator runs; then one runs, and another identity holds the lease."""
    down = alerts.expect("EspalierOperatorDown")
    with contextlib.ExitStack() as until_both_are_seen:
        with world.chart.without_operator():
            down.wait(90)
            no_leader = alerts.expect("EspalierOperatorNoLeader", **of_operator(world))
            until_both_are_seen.enter_context(world.chart.lease_of_another())
        no_leader.wait(90)
