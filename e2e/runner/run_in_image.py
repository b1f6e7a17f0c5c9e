"""`espalier run` in a pod of the trainer image without an operator: Pod Security `restricted`, a read-only root file system,
and empty folders for its files."""

import json
import re

from runner import chart
from runner.commands import Failure
from runner.namespace import SECRET

JOB_FOLDER, OUTPUT_FOLDER, SCRATCH = "/etc/espalier/job", "/output", "/tmp"
# The pod's log contains standard error too.
RESULT = re.compile(r"^\{$", re.MULTILINE)


def begin(namespace, name, manifest, **values):
    """Starts a manifest's job, on the graph that the cluster's jobs read."""
    document = namespace.document(manifest, **{"output": f"{OUTPUT_FOLDER}/run", **values})
    namespace.apply_object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                            "data": {"job.yaml": document}})
    namespace.apply_object(_pod(name))


def result(namespace, name, seconds):
    """Waits for the end of the pod and returns the result.json that it printed."""
    namespace.wait_for_pod_to_succeed(name, seconds)
    log = namespace.kubectl("logs", name)
    begin_of_result = RESULT.search(log)
    if not begin_of_result:
        raise Failure(f"pod {name} printed no result: {log[-3000:]}")
    return json.JSONDecoder().raw_decode(log, begin_of_result.start())[0]


def _pod(name):
    """Trainers, servers and a partitioner are processes of one container."""
    folders = {"job": (JOB_FOLDER, {"configMap": {"name": name}}), "output": (OUTPUT_FOLDER, {"emptyDir": {}}),
               "scratch": (SCRATCH, {"emptyDir": {}})}
    container = {
        "name": "run", "image": chart.trainer_image(),
        "command": ["espalier", "run", "--file", f"{JOB_FOLDER}/job.yaml", "--output", f"{OUTPUT_FOLDER}/run",
                    "--quiet", "--json"],
        "env": [{"name": "ESPALIER_DATA_DIR", "value": f"{OUTPUT_FOLDER}/copies"}],
        "envFrom": [{"secretRef": {"name": SECRET}}],
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                            "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": volume, "mountPath": path} for volume, (path, _) in folders.items()]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "automountServiceAccountToken": False, "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container], "volumes": [{"name": volume, **source} for volume, (_, source) in folders.items()]}}
