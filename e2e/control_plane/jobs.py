"""DistTrainings whose pods end as specified, and the objects that must exist for each at its end."""

LABEL = "espalier.io/job"
INCARNATION = "espalier.io/incarnation"
COMPONENT = "app.kubernetes.io/component"
END = "e2e.espalier.io/end-"
LASTS = "e2e.espalier.io/lasts"
TERMINAL = ("Succeeded", "Failed")


def _template(ends, lasts, spec):
    """Returns the annotation with the ends of the first, second, ... incarnation or attempt; later ones succeed (stages.yaml)."""
    annotations = {f"{END}{i}": str(end) for i, end in enumerate(ends, 1)}
    if lasts:
        annotations[LASTS] = lasts
    template = {"metadata": {"annotations": annotations}} if annotations else {}
    return dict(template, spec=spec) if spec else template


def training(name, *, trainers=2, partitions=2, samplers=0, ends=(), lasts="", partition_ends=(), run_policy=None,
             storage=None, partitioner_spec=None, trainer_spec=None, source="s3://graphs/cora",
             output="s3://results/e2e", gpus=0):
    small = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
    spec = {
        "graph": {"source": {"uri": source, "format": "OGB"}, "partitions": {"count": partitions}},
        "training": {
            "task": {"type": "NodeClassification", "split": "public"}, "inputs": [{"features": ["node-feat"]}],
            "model": {"type": "GraphSAGE"}, "sampling": {"layers": [{"fanout": 25}, {"fanout": 10}]}},
        "partitioner": {"resources": small, "template": _template(partition_ends, "", partitioner_spec)},
        "servers": {"resources": small},
        "samplers": {"replicas": samplers, "resources": small},
        "trainers": {"replicas": trainers, "maxReplicas": 4, "resources": small,
                     "template": _template(ends, lasts, trainer_spec), "gpus": gpus},
        "output": {"uri": output},
        "runPolicy": run_policy or {}}
    if storage:
        spec["storage"] = storage
    return {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": name}, "spec": spec}


def condition(job, kind):
    """Returns the job's condition of the type, or {}."""
    return next((one for one in job.get("status", {}).get("conditions", []) if one["type"] == kind), {})


def phase(job):
    return job.get("status", {}).get("phase", "")


def label(thing, name):
    return thing["metadata"].get("labels", {}).get(name, "")


def expected_children(job):
    """Returns {kind: names} of the children of a job that has ended, without pods."""
    name, spec, status = job["metadata"]["name"], job["spec"], job["status"]
    policy = spec["runPolicy"]["cleanPodPolicy"]
    samplers = spec["samplers"]["replicas"] > 0
    served = status["incarnation"] > 0  # otherwise it ended before servers were created
    roles = ["server", "trainer"] + (["sampler"] if samplers else [])
    children = {
        "Service": {name}, "ServiceAccount": {f"{name}-job"}, "NetworkPolicy": {f"{name}-job"},
        "ConfigMap": {f"{name}-config"}, "Secret": {f"{name}-ca"} | {f"{name}-tls-{role}" for role in roles},
        "Job": set(), "StatefulSet": set(), "PodDisruptionBudget": set()}
    if served:
        children["ConfigMap"].add(f"{name}-config-{status['incarnation']}")
        children["PodDisruptionBudget"].add(f"{name}-server")
    if policy != "All":
        children["Job"] = ({name_of_trainer_job(job)} if served else set()) | \
            (set() if was_suspended(job) else {name_of_partition_job(job)})
    if policy == "None" and served:
        children["StatefulSet"] = {f"{name}-server-0"} | ({f"{name}-sampler"} if samplers else set())
    return children


def was_suspended(job):
    """Returns whether the job was suspended: its Jobs were then deleted, the partitioner's too."""
    return condition(job, "Suspended").get("reason") == "Resumed"


def name_of_trainer_job(job):
    return f"{job['metadata']['name']}-trainer-{job['status']['incarnation']}"


def name_of_partition_job(job):
    return f"{job['metadata']['name']}-partition-{job['status']['attempts']['partition']}"


def expected_pods(job):
    """Returns {role: number of pods} of a job that has succeeded."""
    spec, policy = job["spec"], job["spec"]["runPolicy"]["cleanPodPolicy"]
    if policy == "All":
        return {}
    pods = {"trainer": spec["trainers"]["replicas"]}
    if not was_suspended(job):
        pods["partitioner"] = 1
    if policy == "None":
        pods["server"] = spec["graph"]["partitions"]["count"]
        if spec["samplers"]["replicas"]:
            pods["sampler"] = spec["samplers"]["replicas"]
    return pods
