"""A namespace of one scenario, with the operations that scenarios use. Pod Security `restricted` is enforced in it."""

import contextlib
import json
import re
import string

from runner import chart, containers, here
from runner.commands import Failure, attempt, run, wait_for

SECRET = "bucket-keys"
LABEL = chart.SCENARIO_SELECTOR
# Default values for the placeholders of cora.yaml. The epochs take about 40 s on two processors. Faults begin after the
# first ten epochs and end by about the hundredth, because trainers wait meanwhile or write a few checkpoints. The other
# epochs are a reserve for faster machines and for slow restarts of pods.
OF_CORA = {"name": "cora", "epochs": "300", "server_replicas": "1", "server_containers": "1", "samplers": "0",
           "trainers": "2", "trainer_memory": "768Mi", "trainer_containers": "1", "feature_cache": "",
           "hidden_size": "64", "partitioner_nodes": ""}
# The libraries fit into this memory, and the parameters do not, so each trainer is killed in its first step. With hardly
# more memory than the libraries need, the kernel would evict and reload their pages for minutes before that.
TOO_LITTLE_MEMORY = {"trainer_memory": "256Mi", "hidden_size": "4096"}
# Objects of a job whose Warning events are about the job. (Those of Endpoints are about the network of the cluster.)
KINDS_OF_A_JOB = {"DistTraining", "Job", "StatefulSet", "Pod", "PodDisruptionBudget"}
# The only warning that a job without faults may have. The kubelet waits one second for its copy of a Secret or ConfigMap
# that a pod names, and tries again: on a busy machine the copy may come later. (A Secret that does not exist has another
# message: the operator creates Secrets before the pods that use them.) All other warnings have a cause in the job: its
# probes begin when its programs listen and end when they are ready, its nodes have room, and StatefulSets outlive their
# pods.
LATE_COPY = re.compile(r"failed to sync (secret|configmap) cache: timed out waiting for the condition")
ADMIN_PORT = 9090  # of a pod's first container; where it has several, the next ones follow


class Namespace:
    def __init__(self, name, bucket):
        self.name = name
        self.bucket = bucket

    def kubectl(self, *arguments, **kwargs):
        return run(["kubectl", "--namespace", self.name, *arguments], **kwargs)

    def create(self):
        self.apply_object({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": self.name, "labels": {**dict([LABEL.split("=")]),
                                          "pod-security.kubernetes.io/enforce": "restricted"}}})

    def create_secret(self, name, texts):
        self.apply_object({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": texts})

    def create_bucket_secret(self, name=SECRET):
        self.create_secret(name, {"AWS_ACCESS_KEY_ID": self.bucket.access_key,
                                  "AWS_SECRET_ACCESS_KEY": self.bucket.secret_key})

    def set_quota(self, pods):
        """Limits the number of pods in the namespace."""
        self.apply_object({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"},
                           "spec": {"hard": {"pods": pods}}})

    def delete(self):
        """Starts the deletion of the namespace. Deletes its jobs and their pods first, because the namespace controller
        retries only after half of the grace period of a remaining pod."""
        for command in (["--namespace", self.name, "delete", "disttrainings", "--all", "--timeout=30s"],
                        ["--namespace", self.name, "wait", "--for=delete", "pods", "--all", "--timeout=30s"],
                        ["delete", "namespace", self.name, "--ignore-not-found", "--wait=false"]):
            with contextlib.suppress(Failure):
                attempt(["kubectl", *command])

    def apply_object(self, document):
        self.kubectl("apply", "--filename", "-", stdin=json.dumps(document))

    def document(self, manifest, **values):
        """Returns the text of a manifest with its placeholders ${...} replaced by `values` and the defaults."""
        known = {"endpoint": self.bucket.endpoint, "region": self.bucket.region, "secret": SECRET,
                 "graph": self.bucket.uri("cora"), "output": self.bucket.uri(self.name), **OF_CORA, **values}
        return string.Template(manifest.read_text()).substitute(known)

    def apply(self, manifest, **values):
        self.kubectl("apply", "--filename", "-", stdin=self.document(manifest, **values))

    def plugin(self, command, job, *arguments, **kwargs):
        """Returns the standard output of `kubectl espalier COMMAND JOB`."""
        return run([here.beside(here.PLUGIN), command, job, "--namespace", self.name, *arguments], **kwargs)

    def patch(self, job, changes):
        self.kubectl("patch", "disttraining", job, "--type=merge", "--patch", json.dumps(changes))

    def job(self, name):
        """Returns the DistTraining; its status is empty before the operator has written it. None if it does not exist."""
        found = self.kubectl("get", "disttraining", name, "--ignore-not-found", "--output=json")
        return {"status": {}, **json.loads(found)} if found else None

    def objects(self, kinds, job, **labels):
        selector = ",".join([f"espalier.io/job={job}"] + [f"{key}={value}" for key, value in labels.items()])
        return json.loads(self.kubectl("get", kinds, "--selector", selector, "--output=json"))["items"]

    def _warning_events(self):
        return json.loads(self.kubectl("get", "events", "--field-selector=type=Warning", "--output=json"))["items"]

    def warnings(self):
        """Returns the Warning events of the namespace, one line each."""
        return [_described(event) for event in self._warning_events()]

    def unexpected_warnings(self, reasons=None):
        """Returns the Warning events about the namespace's jobs and their children that a job without faults does not
        have, one line each; with `reasons`, only events with one of these reasons."""
        return [_described(event) for event in self._warning_events()
                if event["involvedObject"]["kind"] in KINDS_OF_A_JOB and not LATE_COPY.search(event.get("message") or "")
                and (reasons is None or event["reason"] in reasons)]

    def condition(self, job, kind):
        """Returns the condition of this type of a job, or None."""
        conditions = self.job(job)["status"].get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == kind), None)

    def pods(self, job, role=None):
        """Returns the pods of a job, or of one of its roles: {name: pod}."""
        found = self.objects("pods", job)
        return {pod["metadata"]["name"]: pod for pod in found
                if role in (None, pod["metadata"]["labels"]["app.kubernetes.io/component"])}

    def uids(self, job, role=None):
        """Returns {name: uid} of the same pods. A replacement may have the name of the former pod, but never its uid."""
        return {name: pod["metadata"]["uid"] for name, pod in self.pods(job, role).items()}

    def metrics(self, pod, port=ADMIN_PORT):
        """Returns the metrics of a pod's admin port, read through the API server's proxy."""
        return run(["kubectl", "get", "--raw", f"/api/v1/namespaces/{self.name}/pods/{pod}:{port}/proxy/metrics"])

    def kill(self, pod):
        """Sends SIGKILL to the pod's processes. Deletes the pod if the kubelet would otherwise restart its containers.
        Needs a cluster of e2e/cluster."""
        found = wait_for(f"{pod} at work", 30, lambda: self._at_work(pod))
        containers.kill_all(found)
        if found["spec"]["restartPolicy"] != "Never":
            self.evict(pod)

    def replace(self, job, role, pod):
        """Kills a pod of this role, and waits until another one runs in its place, so that the job has noticed the
        failure."""
        former = set(self.uids(job, role).values())
        self.kill(pod)
        wait_for(f"another {role} of {job}", 90, lambda: any(
            found["metadata"]["uid"] not in former and found["status"]["phase"] in ("Running", "Succeeded")
            for found in self.pods(job, role).values()), lambda: _status(self.job(job)))

    def _at_work(self, name):
        """Returns the pod if its status has a running container, else None. Processes run earlier than the status says."""
        pod = json.loads(self.kubectl("get", "pod", name, "--output=json"))
        is_at_work = any("running" in status["state"] for status in pod["status"].get("containerStatuses", []))
        return pod if is_at_work else None

    def evict(self, pod):
        """Deletes a pod by force. Its processes get SIGTERM, and SIGKILL after two seconds."""
        self.kubectl("delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")

    def wait_for_phase(self, job, phase, seconds, never=("Failed",)):
        def look():
            seen = self.job(job)
            at = seen and seen["status"].get("phase")
            if at in never and at != phase:
                raise Failure(f"{job} is {at}: {_status(seen)}")
            return seen if at == phase else None

        return wait_for(f"{job} {phase}", seconds, look, lambda: _status(self.job(job)))

    def wait_for_condition(self, job, kind, status, reason, seconds):
        def look():
            return any(condition["type"] == kind and condition["status"] == status and condition["reason"] == reason
                       for condition in self.job(job)["status"].get("conditions", []))

        wait_for(f"{job} {kind}={status} because of {reason}", seconds, look, lambda: _status(self.job(job)))

    def wait_for(self, what, seconds, look):
        """Waits for any other change of the namespace's jobs."""
        return wait_for(what, seconds, look)

    def wait_for_pod_to_succeed(self, name, seconds):
        """Waits for a pod that does not belong to a DistTraining."""
        def look():
            status = json.loads(self.kubectl("get", "pod", name, "--output=json"))["status"]
            if status.get("phase") == "Failed":
                raise Failure(f"pod {name} has failed: {status.get('containerStatuses')}\n"
                              + attempt(["kubectl", "--namespace", self.name, "logs", name]).stdout[-3000:])
            return status.get("phase") == "Succeeded"

        wait_for(f"pod {name} Succeeded", seconds, look,
                 lambda: self.kubectl("get", "pod", name, "--output=jsonpath={.status}"))

    def wait_for_pods_elsewhere(self, job, role, count, node, seconds):
        """Waits until all of a role's pods run on nodes other than `node`."""
        def look():
            running = [pod for pod in self.pods(job, role).values() if pod["status"]["phase"] == "Running"
                       and pod["spec"]["nodeName"] != node and "deletionTimestamp" not in pod["metadata"]]
            return len(running) == count

        wait_for(f"each {role} of {job} elsewhere than on {node}", seconds, look, lambda: _status(self.job(job)))

    def wait_for_checkpoint(self, job, seconds):
        """Waits until the bucket has a complete checkpoint of the job."""
        wait_for(f"a checkpoint of {job}", seconds, lambda: self._checkpoints(job), lambda: _status(self.job(job)))

    def wait_until_it_trains(self, job, seconds):
        """Waits until the job has written two new checkpoints. One would prove nothing, because its upload may have begun
        before the fault."""
        former = self._checkpoints(job)
        written = set()  # a set of all, because the job removes the oldest

        def look():
            written.update(self._checkpoints(job) - former)
            return len(written) >= 2

        wait_for(f"training of {job}", seconds, look, lambda: _status(self.job(job)))

    def _checkpoints(self, job):
        """Returns the manifests' keys of the complete checkpoints of a job, which must not have ended. A manifest is
        written last."""
        seen = self.job(job)
        if seen["status"].get("phase") in ("Failed", "Succeeded"):
            raise Failure(f"{job} ended too early: {_status(seen)}")
        keys = self.bucket.keys(f"{self.run_prefix(job)}/checkpoints/")
        return {key for key in keys if key.endswith("/manifest.json")}

    def begin_deletion(self, *jobs):
        self.kubectl("delete", "disttraining", *jobs, "--wait=false")

    def delete_job(self, job, seconds):
        """Deletes a DistTraining and waits until all its children are deleted."""
        self.begin_deletion(job)
        self.wait_until_deleted(job, seconds)

    def wait_until_deleted(self, job, seconds):
        def left():
            """Returns the DistTraining, which has no label espalier.io/job, and its remaining children."""
            return list(filter(None, [self.job(job)])) + self.objects(
                "pods,jobs,statefulsets,services,configmaps,secrets,networkpolicies,poddisruptionbudgets,"
                "serviceaccounts", job)

        self.wait_until_gone(f"{job} and all that belonged to it", seconds, left)

    def wait_until_gone(self, what, seconds, look):
        wait_for(f"the end of {what}", seconds, lambda: not look(),
                 lambda: "still there: " + ", ".join(sorted(item if isinstance(item, str) else item["metadata"]["name"]
                                                            for item in look())))

    def run_prefix(self, job):
        """Returns the prefix of a job's checkpoints and outputs in the bucket."""
        return f"{self.name}/{job}-{self.job(job)['metadata']['uid'][:8]}"

    def result(self, job):
        return self.bucket.json(f"{self.run_prefix(job)}/result.json")

    def models(self, job):
        """Returns the checksums of the best and the last model file, from the manifest of the outputs."""
        files = self.bucket.json(f"{self.run_prefix(job)}/manifest.json")["files"]
        found = {entry["key"].rpartition("/")[2]: entry["xxh3_64"] for entry in files
                 if entry["kind"] == "model" and entry["key"].endswith(".safetensors")}
        if set(found) != {"best.safetensors", "last.safetensors"}:
            raise Failure(f"{job} has the models {sorted(found)}")
        return found


def _described(event):
    about = event["involvedObject"]
    return f"{about['kind']} {about['name']}: {event['reason']}: {event.get('message')}"


def _status(job):
    status = (job or {}).get("status", {})
    conditions = [f"{condition['type']}={condition['status']} ({condition['reason']}: {condition.get('message', '')})"
                  for condition in status.get("conditions", [])]
    return f"phase {status.get('phase')}, {'; '.join(conditions)}, last error {status.get('lastError')}"
