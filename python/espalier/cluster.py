"""Jobs on a Kubernetes cluster. Uses the official client (package `kubernetes`), which is imported on the first use."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
from typing import Any

from espalier import errors, programs
from espalier.jobs import Results
from espalier.typing import Path

_KIND = ("espalier.io", "v1alpha1")
_PLURAL = "disttrainings"
_ROLES = ("partitioner", "server", "sampler", "trainer")
_REQUEST_SECONDS = 30
_WATCH_SECONDS = 240     # duration of a watch, after which a dead connection is noticed
_OUTAGE_SECONDS = 300    # for which `wait` retries requests to an API server that does not respond
_RETRY_SECONDS = 1
_ACCOUNT_NAMESPACE = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_BY_STATUS = {400: errors.InvalidArgument, 401: errors.Unauthenticated, 403: errors.PermissionDenied,
              404: errors.NotFound, 409: errors.Aborted, 415: errors.Unimplemented, 422: errors.InvalidArgument,
              504: errors.DeadlineExceeded}


def submit(job: dict[str, Any] | Path, *, namespace: str | None = None, context: str | None = None,
           kubeconfig: Path | None = None) -> "Job":
    """Creates a DistTraining on a cluster and returns its Job. Counterpart of `kubectl create -f`.

    job: a dict, or the path of a YAML or JSON file. namespace: None: that of the document, else that of the context.
    context: name of a context of the kubeconfig; None: the current one. kubeconfig: path; None: KUBECONFIG, else
    ~/.kube/config, else the service account of the pod.

    Requires `pip install 'kubernetes>=37'` (ImportError). InvalidArgument: the API server rejects the document; the
    message has the path of each invalid or unknown field. Other errors: AlreadyExists, PermissionDenied,
    Unauthenticated, Unavailable.
    """
    cluster = _Cluster(namespace, context, kubeconfig)
    if not isinstance(job, dict):
        job = _read(job)
    place = (job.get("metadata") or {}).get("namespace")
    if namespace and place and place != namespace:
        raise errors.InvalidArgument(f"the document's namespace is {place!r}, not {namespace!r}")
    cluster.namespace = namespace or place or cluster.namespace
    with _translated_errors():
        created = cluster.jobs.create_namespaced_custom_object(
            *_KIND, cluster.namespace, _PLURAL, job, field_validation="Strict", _request_timeout=_REQUEST_SECONDS)
    return Job(cluster, created)


def job(name: str, namespace: str | None = None, *, context: str | None = None,
        kubeconfig: Path | None = None) -> "Job":
    """Returns the Job of an existing DistTraining. Arguments and errors are those of `submit`. NotFound: it does not
    exist."""
    cluster = _Cluster(namespace, context, kubeconfig)
    return Job(cluster, cluster.get(name))


class Job:
    """A DistTraining on a cluster.

    It has the attributes `name` and `namespace`. `status`, `phase` and `conditions` are read from the API server at
    each access (docs/reference/status.md). Every call may raise NotFound (the job was deleted, even if another job now
    has its name), PermissionDenied, Unauthenticated and Unavailable.
    """

    def __init__(self, cluster, document):
        self._cluster = cluster
        self.name = document["metadata"]["name"]
        self.namespace = document["metadata"]["namespace"]
        self._uid = document["metadata"]["uid"]

    def __repr__(self) -> str:
        return f"Job({self.name!r}, namespace={self.namespace!r})"

    def _read(self):
        document = self._cluster.get(self.name)
        if document["metadata"]["uid"] != self._uid:
            raise errors.NotFound(f"{self.name} was deleted; another job has the same name")
        return document

    @property
    def status(self) -> dict[str, Any]:
        """The status as a dict; empty until the operator has seen the job."""
        return self._read().get("status", {})

    @property
    def phase(self) -> str:
        return self.status.get("phase", "")

    @property
    def conditions(self) -> dict[str, dict[str, Any]]:
        """The conditions by type, each a dict with status ("True", "False", "Unknown"), reason and message."""
        return _conditions(self.status)

    def wait(self, timeout: float | None = None, progress: bool | None = None) -> "Job":
        """Blocks until the job has succeeded, and returns it.

        timeout: seconds, after which DeadlineExceeded is raised while the job continues; None: no limit. progress:
        whether to show the progress, as a bar in a notebook with tqdm, otherwise as a line; None: in notebooks and if
        standard error is a terminal.

        If the job fails, raises the error for the exit code of its trainers (docs/exit-codes.md), with the message of
        its condition. InvalidArgument: the operator does not accept the document. Unavailable: the API server did not
        respond for five minutes; until then, broken connections are reopened.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with _Progress(self.name, progress) as shown:
            for document in self._versions(deadline, shown):
                shown.update(document.get("status", {}))
                if _has_succeeded(document):
                    return self
        raise errors.DeadlineExceeded(f"{self.name} has not ended after {timeout:g} s")

    def _versions(self, deadline, shown):
        """Yields the document, and again whenever it may have changed, until the deadline. Retries after an outage."""
        retried, out_since = (errors.Unavailable, errors.DeadlineExceeded), None
        while True:
            try:
                document = self._read()
                # An API server that has just started rejects all users until it has read the roles.
                retried, out_since = (errors.Unavailable, errors.DeadlineExceeded, errors.PermissionDenied), None
                yield document
                yield from self._changes(document["metadata"]["resourceVersion"], deadline)
            except retried as error:
                out_since = out_since or time.monotonic()
                if time.monotonic() - out_since > _OUTAGE_SECONDS:
                    raise
                shown.note(f"{error}; retrying")
                time.sleep(_RETRY_SECONDS)
            if deadline is not None and time.monotonic() >= deadline:
                return

    def _changes(self, version, deadline):
        """Yields newer versions of the document until the deadline, or until the watch or the connection ends."""
        import kubernetes
        left = _WATCH_SECONDS if deadline is None else min(_WATCH_SECONDS, deadline - time.monotonic())
        if left <= 0:
            return
        with _translated_errors():
            for event in kubernetes.watch.Watch().stream(
                    self._cluster.jobs.list_namespaced_custom_object, *_KIND, self.namespace, _PLURAL,
                    field_selector=f"metadata.name={self.name}", resource_version=version,
                    timeout_seconds=int(left) + 1, _request_timeout=(_REQUEST_SECONDS, left + _REQUEST_SECONDS)):
                if event is None:  # an incomplete line at the end of the connection
                    return
                if event["type"] == "DELETED":
                    raise errors.NotFound(f"{self.name} was deleted")
                yield event["object"]

    def logs(self, role: str = "trainer", index: int = 0, *, previous: bool = False) -> str:
        """Returns the log of a pod of the newest attempt. role: "partitioner", "server", "sampler" or "trainer".

        index: the rank, or for a server the partition: the log is then that of the pod's first container. previous:
        whether to return the log of the container before its last restart. NotFound: the pod does not exist yet, or
        does not exist any more.
        """
        if role not in _ROLES:
            raise errors.InvalidArgument(f"{role!r} is no role: expected one of {', '.join(_ROLES)}")
        place, container = index, role
        if role == "trainer":  # rank r is container r % C of pod r // C, if a pod has C trainers
            trainers = self._read()["spec"].get("trainers", {})
            place, number = divmod(index, trainers.get("containersPerPod", 1))
            container = f"{role}-{number}" if number else role
        with _translated_errors():
            pods = self._cluster.pods.list_namespaced_pod(
                self.namespace, label_selector=f"espalier.io/job={self.name},app.kubernetes.io/component={role}",
                _request_timeout=_REQUEST_SECONDS).items
            pods = [pod for pod in pods if _index(pod) == place]
            if not pods:
                raise errors.NotFound(f"{self.name} has no pod of {role} {index}")
            newest = max(pods, key=lambda pod: pod.metadata.creation_timestamp)
            response = self._cluster.pods.read_namespaced_pod_log(
                newest.metadata.name, self.namespace, container=container, previous=previous, _preload_content=False,
                _request_timeout=_REQUEST_SECONDS)
            return response.data.decode(errors="replace")

    def suspend(self) -> None:
        """Asks the job to write a checkpoint and release its pods. FailedPrecondition: the job has ended."""
        self._change({"runPolicy": {"suspend": True}})

    def resume(self) -> None:
        """Asks a suspended job to resume from its checkpoint. FailedPrecondition: the job has ended."""
        self._change({"runPolicy": {"suspend": False}})

    def scale(self, trainers: int) -> None:
        """Asks for another number of trainers. Counterpart of `kubectl scale`.

        Running trainers write a checkpoint, from which the new group resumes with the same mini-batches
        (docs/recovery.md). A job in a Kueue queue waits for quota if it needs more (docs/operations/kueue.md).
        InvalidArgument: the document does not allow this number; FailedPrecondition: the job has ended.
        """
        self._change({"trainers": {"replicas": trainers}})

    def _change(self, spec):
        conditions = self.conditions
        if any(_is_true(conditions, end) for end in ("Succeeded", "Failed")):
            raise errors.FailedPrecondition(f"{self.name} has ended")
        with _translated_errors():
            self._cluster.jobs.patch_namespaced_custom_object(
                *_KIND, self.namespace, _PLURAL, self.name, _content_type="application/merge-patch+json",
                body={"metadata": {"uid": self._uid}, "spec": spec}, _request_timeout=_REQUEST_SECONDS)

    def delete(self) -> None:
        """Deletes the job with its pods. Its outputs are kept."""
        import kubernetes
        only_this = kubernetes.client.V1DeleteOptions(preconditions=kubernetes.client.V1Preconditions(uid=self._uid))
        with _translated_errors():
            self._cluster.jobs.delete_namespaced_custom_object(
                *_KIND, self.namespace, _PLURAL, self.name, body=only_this, propagation_policy="Background",
                _request_timeout=_REQUEST_SECONDS)

    def results(self, folder: Path, *, what: str = "all", endpoint: str | None = None,
                use_job_credentials: bool = False) -> Results:
        """Copies the job's outputs to a folder, as `kubectl espalier fetch` does, and returns them as Results.

        folder: a folder that is used only for this job's outputs. A repeated call continues an interrupted copy or adds
        other outputs. what: "model", "embeddings", "predictions", "metrics", several separated by commas, or "all".
        endpoint: endpoint of the S3 service for this machine. use_job_credentials: whether to use the credentials of
        the job's Secret instead of those of the environment.

        Requires the program kubectl-espalier in PATH or ESPALIER_BIN (docs/kubectl-plugin.md). InvalidArgument: the job
        has not written outputs yet.
        """
        command = [programs.path("kubectl-espalier"), "fetch", self.name, "--namespace", self.namespace, "--quiet",
                   "--to", os.fspath(folder), "--what", what, *self._cluster.flags]
        command += ["--endpoint", endpoint] if endpoint else []
        command += ["--use-job-credentials"] if use_job_credentials else []
        process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 preexec_fn=programs.end_with_this_thread())
        if process.returncode != 0:
            raise errors.from_exit_code(process.returncode, process.stderr.strip())
        return Results(folder)


def _read(file):
    import yaml  # installed with `kubernetes`
    loader = type("Loader", (yaml.SafeLoader,), {})  # SafeLoader reads 1e-05 as text
    loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"-?\d+(\.\d+)?[eE][-+]?\d+$"), "-0123456789")
    try:
        document = yaml.load(pathlib.Path(file).read_text(), loader)
    except yaml.YAMLError as error:
        raise errors.InvalidArgument(f"{os.fspath(file)}: {error}") from None
    if not isinstance(document, dict):
        raise errors.InvalidArgument(f"{os.fspath(file)} is no document of a job")
    return document


class _Cluster:
    """A connection to an API server, with a namespace."""

    def __init__(self, namespace, context, kubeconfig):
        try:
            import kubernetes
        except ImportError as error:
            raise ImportError("jobs on a cluster need its client: pip install 'kubernetes>=37'") from error
        config, file = kubernetes.config, os.fspath(kubeconfig) if kubeconfig else os.environ.get("KUBECONFIG") or None
        configuration = kubernetes.client.Configuration()
        try:
            config.load_kube_config(file, context, client_configuration=configuration, persist_config=False)
            contexts, current = config.list_kube_config_contexts(file)
            chosen = next((one for one in contexts if one["name"] == context), current)
            default = chosen["context"].get("namespace")
        except config.ConfigException as error:
            if kubeconfig or context or not _ACCOUNT_NAMESPACE.exists():
                raise errors.InvalidArgument(str(error)) from None
            config.load_incluster_config(configuration)
            default = _ACCOUNT_NAMESPACE.read_text().strip()
        self.namespace = namespace or default or "default"
        self.flags = (["--kubeconfig", file] if kubeconfig else []) + (["--context", context] if context else [])
        client = kubernetes.client.ApiClient(configuration)
        self.jobs, self.pods = kubernetes.client.CustomObjectsApi(client), kubernetes.client.CoreV1Api(client)

    def get(self, name):
        with _translated_errors():
            return self.jobs.get_namespaced_custom_object(*_KIND, self.namespace, _PLURAL, name,
                                                          _request_timeout=_REQUEST_SECONDS)


@contextlib.contextmanager
def _translated_errors():
    """Converts errors of the API server and of the connection to exceptions of Espalier."""
    import kubernetes
    import urllib3
    try:
        yield
    except kubernetes.client.ApiException as error:
        try:
            answer = json.loads(error.body)
        except (TypeError, ValueError):  # not a response of the API server, or an error of a watch
            answer = {}
        kind = errors.AlreadyExists if answer.get("reason") == "AlreadyExists" else \
            _BY_STATUS.get(error.status, errors.Unavailable)
        raise kind(answer.get("message") or f"the API server answers {error.status}: {error.reason}") from None
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise errors.Unavailable(f"the API server does not answer: {error}") from error


def _conditions(status):
    return {condition["type"]: condition for condition in status.get("conditions", [])}


def _is_true(conditions, name):
    return conditions.get(name, {}).get("status") == "True"


def _has_succeeded(document):
    """Returns whether the job has succeeded. Raises its error if it has failed."""
    status = document.get("status", {})
    conditions = _conditions(status)
    accepted = conditions.get("Accepted", {})
    if accepted.get("status") == "False" and accepted.get("reason") in ("InvalidSpec", "InvalidTemplate"):
        raise errors.from_exit_code(64, accepted["message"])
    if _is_true(conditions, "Failed"):
        failed = conditions["Failed"]
        if failed["reason"] == "DeadlineExceeded":
            raise errors.DeadlineExceeded(failed["message"])
        code = status.get("lastError", {}).get("exitCode", 74)  # missing if the end of the pod was not observed
        # Other codes are mapped as by `espalier run`: killed from outside (74), or a bug (70).
        code = code if code in (64, 65, 70, 74, 75, 77) else 74 if code in (137, 143) else 70
        raise errors.from_exit_code(code, failed["message"])
    return _is_true(conditions, "Succeeded")


def _index(pod):
    """Returns the number of a pod of a Job or StatefulSet."""
    labels = pod.metadata.labels
    index = labels.get("batch.kubernetes.io/job-completion-index", labels.get("apps.kubernetes.io/pod-index", "0"))
    return int(index)


class _Progress:
    """Shows the progress of a job: as a tqdm bar in a notebook, otherwise as one line that is overwritten."""

    def __init__(self, name, shown):
        notebook = "ipykernel" in sys.modules
        self._name, self._shown, self._bar, self._width = name, shown, None, 0
        if shown is None:
            self._shown = notebook or sys.stderr.isatty()
        if self._shown and notebook:
            with contextlib.suppress(ImportError):
                from tqdm.auto import tqdm
                self._bar = tqdm(total=100, desc=name, bar_format="{desc}: {percentage:3.0f}%|{bar}| {postfix}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()
        elif self._width:
            print(file=sys.stderr)

    def update(self, status):
        progress = status.get("progress", {})
        metrics = [f"{name}={value:.4g}" for name, value in progress.get("metrics", {}).items()]
        epoch = [f"epoch {progress['epoch']}"] if "epoch" in progress else []
        text = "  ".join([status.get("phase", "Pending"), *epoch, *metrics])
        if self._bar is not None:
            self._bar.n = 100 if status.get("phase") == "Succeeded" else progress.get("percent", 0)
            self._bar.set_postfix_str(text)
        else:
            self.note(f"{progress.get('percent', 0):3.0f} %  {text}")

    def note(self, text):
        if self._shown and self._bar is None:
            # Names come from the cluster, so control characters are replaced before they reach the terminal.
            line = "".join(letter if letter.isprintable() else "?" for letter in f"{self._name}  {text}")
            print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(line)
