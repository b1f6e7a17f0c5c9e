"""Nothing is installed: what the page of Kueue says is done, from the chart to a job that a queue has admitted."""

import json
import pathlib
import tempfile
import time

from control_plane.queued_jobs import API
from runner import here, pages
from runner.kueue_manager import kueue_manager

LEVEL = "full"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # Kueue's webhooks are on the API server's loopback
NEEDS_TOOLS = ["kueue"]
PAGE, HEADING = "docs/operations/kueue.md", "## From an empty cluster to the first job in a queue"
QUEUE, DOCUMENT = "queue.yaml", "crds/examples/cora.yaml"
MAX_SECONDS = 180  # from the chart's command to the end of the job, where images need not be pulled


def run_steps(world):
    namespace, bucket = world.namespace, world.namespace.bucket
    places = {**world.chart.places_on_pages(), "https://s3.example.com": bucket.endpoint, "us-east-1": bucket.region,
              "s3://lab/graphs/cora": bucket.uri("cora"), "s3://lab/results/cora": bucket.uri(namespace.name)}
    _, install, queue, job, look = pages.commands(PAGE, HEADING)  # the first block installs Kueue, which runs here already
    try:
        world.chart.remove()
        with tempfile.TemporaryDirectory(prefix="espalier-e2e-queue-") as folder, kueue_manager() as kueue:
            user = pages.Reader(pathlib.Path(folder), namespace.name, places)
            begin = time.monotonic()
            user.do(install, 330)
            user.write(QUEUE, pages.file_of(PAGE, QUEUE))
            # Returns when the API server calls Kueue's webhooks; for a Deployment the page's command waits.
            kueue.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "other"}})
            user.do(queue, 90)
            (user.folder / DOCUMENT).parent.mkdir(parents=True)
            user.write(DOCUMENT, (here.SOURCE / DOCUMENT).read_text())
            user.do(job, 300, watch_until="Succeeded")
            seconds = time.monotonic() - begin
            world.figure("until the end of the job", seconds)
            assert "QuotaReserved" in user.do(look)
            workload = json.loads(namespace.kubectl("get", "workloads.kueue.x-k8s.io", "cora-workload", "--output=json"))
            assert workload["status"]["admission"]["clusterQueue"] == "training", workload["status"]
    finally:
        world.chart.install()  # for the next scenarios
    assert seconds < MAX_SECONDS, f"{seconds:.0f} s until the end of the job, expected less than {MAX_SECONDS}"
