"""Cora in a bucket and one manifest: a trained model in the bucket, fetched with the plugin, and no process left."""

import json
import pathlib
import tempfile

from runner import here
from runner.commands import run

LEVEL = "ci"
SECONDS = 420
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
EPOCHS = 60  # of the manifest
LEAST_ACCURACY = 0.77  # as on one machine (services/tests/scenarios/train_cora.py)


def run_steps(world):
    for partitions, samplers in ((2, 0), (4, 2)):
        world.note(f"{partitions} partitions, "
                   + (f"{samplers} samplers" if samplers else "samplers inside the trainers"))
        train(world, partitions, samplers)


def train(world, partitions, samplers):
    """Runs the job to its end, checks all its outputs, and removes it."""
    namespace = world.namespace
    namespace.apply(MANIFEST, partitions=str(partitions), samplers=str(samplers),
                    output=world.bucket.uri(f"{namespace.name}/{partitions}"))
    watched = namespace.plugin("status", "cora", "--watch", timeout=180)
    job = namespace.wait_for_phase("cora", "Succeeded", 10)
    *before, last = watched.splitlines()
    assert before and not any("  Succeeded  " in line for line in before) and "  Succeeded  " in last, watched

    prefix = f"{namespace.name}/{partitions}/cora-{job['metadata']['uid'][:8]}"
    result = world.bucket.json(f"{prefix}/result.json")
    world.note(f"accuracy {result['testAccuracy']:.3f} on test nodes, digest {result['parametersDigest']}")
    assert result["testAccuracy"] >= LEAST_ACCURACY, result["testAccuracy"]
    assert result["partitions"] == partitions and result["trainers"] == 2, result
    outputs_are_there(world, prefix)
    outputs_can_be_fetched(namespace, result)
    status_says_so(job)
    progress_is_whole(namespace)
    is_protected(namespace)

    # cleanPodPolicy Running: pods that have ended stay for their logs, pods that would run forever are deleted.
    namespace.wait_until_gone("servers and samplers", 60, lambda: [
        name for name, pod in namespace.pods("cora").items() if pod["status"]["phase"] != "Succeeded"])
    logs_can_be_read(namespace)
    no_warnings(world)
    left = {role: len(namespace.pods("cora", role)) for role in ("partitioner", "server", "sampler", "trainer")}
    assert left == {"partitioner": 1, "server": 0, "sampler": 0, "trainer": 2}, left

    namespace.delete_job("cora", 60)
    assert f"{prefix}/result.json" in world.bucket.keys(prefix), "outputs went with the resource"


def no_warnings(world):
    """Checks that there is no Warning event about the job, from its first pod to the end of its servers. On another cluster,
    nodes may be started for the job's pods, and kubelets may warn about settings of their machines. There only warnings
    count that the job alone can cause, by its probes and by the order of its deletions."""
    for warning in world.namespace.warnings():
        world.note(f"Warning event: {warning}")
    of_the_job = None if world.is_own_cluster() else ("Unhealthy", "CalculateExpectedPodCountFailed")
    unexpected = world.namespace.unexpected_warnings(of_the_job)
    assert not unexpected, "Warning events of a job that has ended well: " + "; ".join(unexpected)


def outputs_are_there(world, prefix):
    manifest = world.bucket.json(f"{prefix}/manifest.json")
    kinds = {entry["kind"] for entry in manifest["files"]}
    assert kinds >= {"model", "embeddings", "predictions", "metrics"}, kinds
    shapes = {entry["key"].split("/", 2)[2]: entry.get("shape") for entry in manifest["files"]}
    assert shapes["embeddings/node/values.npy"] == [2708, 64], shapes
    assert shapes["predictions/node/values.npy"] == [2708], shapes
    world.bucket.verify(prefix)


def outputs_can_be_fetched(namespace, result):
    """Fetches outputs with the kubectl plugin and verifies the folder."""
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-fetched-") as temporary:
        folder = pathlib.Path(temporary) / "cora"
        namespace.plugin("fetch", "cora", "--to", folder, "--what", "model,metrics", timeout=120)
        names = sorted(path.name for path in folder.iterdir())
        assert (folder / "model/best.safetensors").is_file() and "embeddings" not in names, names
        fetched = json.loads((folder / "result.json").read_text())
        assert fetched["parametersDigest"] == result["parametersDigest"], fetched
        run([here.beside(here.PROGRAM), "verify", folder])


def logs_can_be_read(namespace):
    """Reads the logs of both trainers with the kubectl plugin, each line with its pod, and then those of one trainer."""
    speakers = {line.partition(" ")[0] for line in namespace.plugin("logs", "cora", "--role", "trainer").splitlines()}
    assert speakers == {"[trainer-0]", "[trainer-1]"}, speakers
    of_one = namespace.plugin("logs", "cora", "--role", "trainer", "--rank", "1", "--tail", "3").splitlines()
    assert len(of_one) == 3 and all(line.startswith("[trainer-1] ") for line in of_one), of_one


def status_says_so(job):
    status = job["status"]
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions["Succeeded"] == "True", conditions
    assert status["incarnation"] == 1, status
    assert status["partition"]["hash"] and status["partition"]["bytes"] > 0, status


def progress_is_whole(namespace):
    """Reads the termination message of the first trainer, which may arrive a moment after the job's end."""
    def look():
        seen = namespace.job("cora")["status"].get("progress")
        return seen if seen and seen["epoch"] == EPOCHS and seen["percent"] == 100 else None

    progress = namespace.wait_for(f"{EPOCHS} epochs and 100 percent in the status", 30, look)
    assert progress["metrics"].keys() >= {"loss", "validationAccuracy"}, progress


def is_protected(namespace):
    """Checks that TLS is on by default: each role has its own key, and no role has that of the authority."""
    for pod in namespace.pods("cora", "trainer").values():
        secrets = {volume["secret"]["secretName"] for volume in pod["spec"]["volumes"] if "secret" in volume}
        assert secrets == {"cora-tls-trainer"}, secrets
        variables = {variable["name"] for variable in pod["spec"]["containers"][0]["env"]}
        assert {"ESPALIER_TLS_CA", "ESPALIER_TLS_CERTIFICATE", "ESPALIER_TLS_KEY"} <= variables, sorted(variables)
        assert "ESPALIER_INSECURE_LISTEN_ANY" not in variables, sorted(variables)
    assert {"cora-ca", "cora-tls-server", "cora-tls-trainer"} <= {
        secret["metadata"]["name"] for secret in namespace.objects("secrets", "cora")}
