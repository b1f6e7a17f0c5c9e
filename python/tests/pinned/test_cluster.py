"""Tests jobs on a cluster with a real API server and the operator, and simulated nodes (e2e/control_plane)."""

import contextlib
import copy
import http.server
import io
import json
import os
import ssl
import subprocess
import sys
import threading
import unittest
from unittest import mock

import espalier as ep
import graphs

sys.path.insert(0, str(graphs.SOURCE / "e2e"))
from control_plane.cluster import ControlPlane  # noqa: E402
from control_plane.jobs import training  # noqa: E402
from control_plane.operator_process import Operator  # noqa: E402
from control_plane.permissions import allow_in, allow_lease_in, install_roles  # noqa: E402
from control_plane.processes import free_port, wait_until  # noqa: E402

NAMESPACE = "notebooks"
NODES = 2


def setUpModule():
    if not os.environ.get("ESPALIER_KUBE_TOOLS"):
        raise unittest.SkipTest("ESPALIER_KUBE_TOOLS is not set: no API server")
    global folder, plane, kubeconfig
    folder = graphs.make_folder()
    (folder / "plane").mkdir()
    plane = unittest.enterModuleContext(ControlPlane(folder / "plane", NODES))
    install_roles(plane)
    plane.make_namespace(NAMESPACE, {"pod-security.kubernetes.io/enforce": "restricted"})
    user = plane.take_user()
    allow_in(plane, user, NAMESPACE)
    allow_lease_in(plane, user, NAMESPACE)
    unittest.enterModuleContext(Operator(plane, user, namespace=NAMESPACE)).await_words("reconciling")
    kubeconfig = plane.kubeconfig("admin", namespace=NAMESPACE)


def submit(document, **options):
    return ep.submit(document, kubeconfig=kubeconfig, **options)


class Jobs(unittest.TestCase):
    def test_a_job_that_succeeds(self):
        document = training("succeeds")
        document["spec"]["training"]["optimizer"] = {"learningRate": 1e-05}  # a string for YAML 1.1 parsers
        file = folder / "job.yaml"
        file.write_text("# of the tests\n" + json.dumps(document))
        job = submit(file)
        self.assertEqual((job.name, job.namespace), ("succeeds", NAMESPACE))
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            self.assertIs(job.wait(timeout=120, progress=True), job)
        self.assertRegex(shown.getvalue(), r"succeeds  +\d+ %  Pending|Partitioning")
        self.assertIn("%  Succeeded", shown.getvalue())
        self.assertEqual(job.phase, "Succeeded")
        self.assertEqual(job.conditions["Succeeded"]["reason"], "Completed")
        same = ep.job("succeeds", kubeconfig=kubeconfig)
        self.assertEqual(same.status["attempts"], {"partition": 1, "total": 1, "counted": 0})
        for change in (job.suspend, job.resume, lambda: job.scale(1)):
            self.assertRaisesRegex(ep.FailedPrecondition, "succeeds has ended", change)

    def test_progress_in_a_notebook_is_a_bar(self):
        job, shown = submit(training("bar")), io.StringIO()
        with mock.patch.dict(sys.modules, ipykernel=sys), contextlib.redirect_stderr(shown):
            job.wait(timeout=120)
        self.assertIn("bar: 100%|", shown.getvalue())

    def test_a_job_that_fails_raises_the_error_of_its_trainers(self):
        ends = ((65, ep.InvalidArgument, "BadInput"), (77, ep.PermissionDenied, "BackoffLimitExceeded"),
                (3, ep.Internal, "BackoffLimitExceeded"))
        jobs = [submit(training(f"fails-{code}", ends=[code], run_policy={"backoffLimit": 0})) for code, *_ in ends]
        for job, (code, kind, reason) in zip(jobs, ends):
            with self.subTest(code=code):
                with self.assertRaisesRegex(kind, "as the annotation says") as caught:
                    job.wait(timeout=120, progress=False)
                self.assertEqual(caught.exception.exit_code, code if code > 3 else 70)
                self.assertEqual(job.conditions["Failed"]["reason"], reason)

    def test_a_document_that_the_operator_does_not_accept(self):
        job = submit(training("no-volume", output="/out"))
        with self.assertRaisesRegex(ep.InvalidArgument, "spec.output.uri") as caught:
            job.wait(timeout=120, progress=False)
        self.assertEqual(caught.exception.exit_code, 64)

    def test_suspend_resume_and_delete(self):
        job = submit(training("for-ever", ends=["never", "never"]))
        with self.assertRaisesRegex(ep.DeadlineExceeded, "for-ever has not ended after 1 s"):
            job.wait(timeout=1, progress=False)
        wait_until(lambda: job.phase == "Training", 60, "it trains")
        job.suspend()
        wait_until(lambda: job.conditions.get("Suspended", {}).get("status") == "True", 60, "it is suspended")
        job.resume()
        wait_until(lambda: job.conditions["Suspended"]["status"] == "False", 60, "it goes on")

        raised = []
        waiter = threading.Thread(target=lambda: raised.append(self.error_of(lambda: job.wait(progress=False))))
        waiter.start()
        job.delete()
        waiter.join(60)
        self.assertEqual([type(error) for error in raised], [ep.NotFound])
        for call in (lambda: job.status, job.suspend, job.delete, job.wait):
            self.assertRaises(ep.NotFound, call)

        submit(training("for-ever"))
        self.assertRaisesRegex(ep.NotFound, "another job has the same name", lambda: job.status)
        self.assertRaises(ep.Aborted, job.delete)

    def test_scale(self):
        job = submit(training("scaled", ends=["never"]))
        wait_until(lambda: job.phase == "Training", 60, "it trains")
        with self.assertRaisesRegex(ep.InvalidArgument, "is below spec.trainers.replicas"):
            job.scale(5)
        self.assertRaisesRegex(ep.InvalidArgument, "spec.trainers.replicas", job.scale, 0)
        job.scale(3)
        job.wait(timeout=120, progress=False)
        self.assertEqual((job.status["incarnation"], job.status["trainerReplicas"]), (2, 3))
        self.assertEqual(job.status["attempts"]["counted"], 0)

    def test_waiting_survives_the_end_of_the_api_server(self):
        job = submit(training("outlasts", ends=["never"]))
        wait_until(lambda: job.phase == "Training", 60, "it trains")
        shown, raised = io.StringIO(), []
        with contextlib.redirect_stderr(shown):
            waiter = threading.Thread(target=lambda: raised.append(self.error_of(lambda: job.wait(progress=True))))
            waiter.start()
            wait_until(lambda: "Training" in shown.getvalue(), 60, "it is watched")
            plane.restart_api_server()
            wait_until(lambda: "retrying" in shown.getvalue(), 60, "the connection is gone")
            deadline = {"spec": {"runPolicy": {"activeDeadlineSeconds": 1}}}
            plane.api.patch("DistTraining", NAMESPACE, "outlasts", deadline)
            waiter.join(120)
        self.assertEqual([type(error) for error in raised], [ep.DeadlineExceeded])
        self.assertEqual(job.conditions["Failed"]["message"], str(raised[0]))

    def error_of(self, call):
        with self.assertRaises(ep.EspalierError) as caught:
            call()
        return caught.exception

    def test_logs(self):
        with fake_kubelet() as asked:
            job = submit(training("prints", run_policy={"cleanPodPolicy": "None"}))
            job.wait(timeout=120, progress=False)
            self.assertEqual(job.logs(), "log of trainer\n")
            self.assertIn("prints-trainer-1-0-", asked[-1])
            job.logs("trainer", 1)
            self.assertIn("prints-trainer-1-1-", asked[-1])
            self.assertEqual(job.logs("server", 1), "log of server\n")
            self.assertIn("prints-server-0-1/", asked[-1])
            self.assertEqual(job.logs("partitioner", previous=True), "log of partitioner\n")
            self.assertIn("previous=true", asked[-1])

            document = training("pairs", run_policy={"cleanPodPolicy": "None"})
            document["spec"]["trainers"].update(replicas=4, containersPerPod=2)
            pairs = submit(document)
            pairs.wait(timeout=120, progress=False)
            self.assertEqual(pairs.logs("trainer", 2), "log of trainer\n")
            self.assertIn("pairs-trainer-1-1-", asked[-1])
            self.assertEqual(pairs.logs("trainer", 3), "log of trainer-1\n")
            self.assertIn("pairs-trainer-1-1-", asked[-1])
        with self.assertRaisesRegex(ep.NotFound, "no pod of trainer 2"):
            job.logs(index=2)
        with self.assertRaisesRegex(ep.InvalidArgument, "'cook' is no role"):
            job.logs("cook")

    def test_results_by_the_example(self):
        ran, output = folder / "ran", folder / "output"
        ep.run(graphs.SOURCE / "services/examples/cora.yaml", ran, progress=False,
               set={"training.epochs": 1, "graph.source.uri": str(graphs.CORA)})
        # A job on the cluster. The outputs of the job above are put into the folder of its volume while it runs.
        document = folder / "fetched.json"
        document.write_text(json.dumps(training_with_volume("fetched", output, lasts="5s")))
        with fake_kubelet():
            example = subprocess.Popen(
                [sys.executable, graphs.SOURCE / "python/examples/submit.py", document, folder / "fetched"], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "KUBECONFIG": str(kubeconfig)})
            job = wait_until(lambda: plane.api.get("DistTraining", NAMESPACE, "fetched"), 60, "it is there")
            output.mkdir()
            ran.rename(output / f"fetched-{job['metadata']['uid'][:8]}")
            printed, problems = example.communicate(timeout=120)
        self.assertEqual((example.returncode, problems), (0, ""))
        self.assertRegex(printed, r"^log of trainer\n\nResults\('.*/fetched', {.*'testAccuracy': 0\.")
        self.assertEqual(ep.Results(folder / "fetched").predictions()[0].shape, (2708,))

    def test_results_that_are_not_there(self):
        job = submit(training_with_volume("nothing", folder / "output", ends=["never"]))
        with self.assertRaisesRegex(ep.InvalidArgument, "no outputs are committed"):
            job.results(folder / "nothing")
        with mock.patch.dict(os.environ, ESPALIER_BIN=str(folder)):
            self.assertRaisesRegex(ep.NotFound, "kubectl-espalier", job.results, folder / "nothing")


def training_with_volume(name, output, **options):
    """Returns a document with outputs in a folder of the trainers' volume."""
    volume = {"containers": [{"name": "trainer", "volumeMounts": [{"name": "out", "mountPath": str(output)}]}],
              "volumes": [{"name": "out", "emptyDir": {}}]}
    document = training(name, trainer_spec=volume, output=str(output), **options)
    document["spec"]["graph"]["partitions"]["uri"] = "s3://graphs/partitions"
    return document


class Errors(unittest.TestCase):
    def test_a_name_that_is_taken(self):
        submit(training("taken", ends=["never"]))
        self.assertRaisesRegex(ep.AlreadyExists, '"taken" already exists', submit, training("taken"))

    def test_documents_that_the_api_server_refuses(self):
        for path, value, words in (("replicas", 0, "spec.trainers.replicas: Invalid value: 0"),
                                   ("cooks", 3, 'unknown field "spec.trainers.cooks"')):
            document = copy.deepcopy(training("refused"))
            document["spec"]["trainers"][path] = value
            with self.assertRaisesRegex(ep.InvalidArgument, words) as caught:
                submit(document)
            self.assertEqual(caught.exception.exit_code, 65)
        self.assertRaisesRegex(ep.NotFound, "refused", ep.job, "refused", kubeconfig=kubeconfig)

    def test_files_that_are_no_documents(self):
        for text, words in (("a: [", "no.yaml: "), ("- a", "no.yaml is no document")):
            (folder / "no.yaml").write_text(text)
            self.assertRaisesRegex(ep.InvalidArgument, words, submit, folder / "no.yaml")

    def test_namespaces(self):
        document = training("elsewhere")
        document["metadata"]["namespace"] = "absent"
        self.assertRaisesRegex(ep.InvalidArgument, "is 'absent', not 'other'", submit, document, namespace="other")
        self.assertRaisesRegex(ep.NotFound, '"absent" not found', submit, document)

    def test_users_without_rights(self):
        stranger = plane.kubeconfig(plane.take_user(), namespace=NAMESPACE)
        self.assertRaisesRegex(ep.PermissionDenied, "cannot create resource", ep.submit, training("denied"),
                               kubeconfig=stranger)
        self.assertRaisesRegex(ep.PermissionDenied, "cannot get resource", ep.job, "denied", kubeconfig=stranger)
        unknown = plane.folder / "unknown.kubeconfig"
        unknown.write_text(kubeconfig.read_text().replace(plane.tokens["admin"], "0" * 32))
        self.assertRaises(ep.Unauthenticated, ep.job, "denied", kubeconfig=unknown)

    def test_no_api_server(self):
        nowhere = plane.kubeconfig("admin", port=free_port())
        self.assertRaisesRegex(ep.Unavailable, "the API server does not answer", ep.job, "x", kubeconfig=nowhere)

    def test_kubeconfigs(self):
        self.assertRaisesRegex(ep.InvalidArgument, "absent", ep.job, "x", kubeconfig=kubeconfig, context="absent")
        self.assertRaises(ep.InvalidArgument, ep.job, "x", kubeconfig=folder / "absent")
        with mock.patch.dict(os.environ, KUBECONFIG=str(kubeconfig)):
            self.assertRaisesRegex(ep.NotFound, '"x" not found', ep.job, "x", context="e2e")

    def test_without_the_client(self):
        with mock.patch.dict(sys.modules, kubernetes=None):
            with self.assertRaisesRegex(ImportError, r"pip install 'kubernetes>=37'"):
                submit(training("x"))


@contextlib.contextmanager
def fake_kubelet():
    """Simulates the kubelets of all nodes, with a log for each container. Yields the requested paths."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            text = f"log of {self.path.partition('?')[0].rpartition('/')[2]}\n".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plane.folder / "server.crt", plane.folder / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    for number in range(NODES):
        plane.api.request("PATCH", f"/api/v1/nodes/fake-{number:03d}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": server.server_port}}}}, "application/merge-patch+json")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


if __name__ == "__main__":
    unittest.main()
