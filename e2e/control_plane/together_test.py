"""run_together, and how reports distinguish runs on one control plane."""

import contextlib
import io
import json
import pathlib
import tempfile
import threading
import unittest

from control_plane.audit import AuditLog
from control_plane.report import Report
from control_plane.together import run_together


class RunTogether(unittest.TestCase):
    def test_all_run_at_the_same_time_and_results_keep_their_order(self):
        meeting = threading.Barrier(3, timeout=30)

        def meet(number):
            meeting.wait()  # blocks forever if the functions run one after the other
            return number
        self.assertEqual(run_together([lambda number=number: meet(number) for number in range(3)]), [0, 1, 2])

    def test_the_first_error_is_raised_after_all_end(self):
        ended = []

        def fail(words):
            raise RuntimeError(words)
        with self.assertRaisesRegex(RuntimeError, "first"):
            run_together([lambda: ended.append(1), lambda: fail("first"), lambda: fail("second"), lambda: ended.append(2)])
        self.assertEqual(sorted(ended), [1, 2])

    def test_one_alone_is_called_in_the_calling_thread(self):
        self.assertEqual(run_together([threading.current_thread]), [threading.current_thread()])
        self.assertEqual(run_together([]), [])


class OneOfSeveral(unittest.TestCase):
    def test_an_audit_log_has_the_requests_of_its_users_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "audit.log"
            path.write_text("before\n")
            audit = AuditLog(path, ["operator-a", "operator-c"])
            with path.open("a") as log:
                for second, user in enumerate(("operator-a", "operator-b", "operator-c")):
                    log.write(json.dumps({
                        "user": {"username": user}, "verb": "list", "stage": "ResponseComplete", "requestURI": "/api/v1/pods",
                        "requestReceivedTimestamp": f"2026-11-28T01:00:0{second}+00:00",
                        "annotations": {"authorization.k8s.io/decision": "forbid"}}) + "\n")
            self.assertEqual([request.user for request in audit.requests()], ["operator-a", "operator-c"])
            self.assertEqual([request.user for request in audit.forbidden()], ["operator-a", "operator-c"])

    def test_each_line_of_a_report_begins_with_the_name_of_its_run(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            report = Report("kills", "5 kills")
            report.row("operators killed", 5)
            report.expect(False, "all jobs have ended", "one: Training\ntwo: Starting")
            self.assertFalse(report.end())
        lines = output.getvalue().splitlines()
        self.assertEqual([line for line in lines if not line.startswith("kills: ")], [])
        self.assertEqual([line.split() for line in lines if "FAIL" in line], [["kills:", "FAIL", "all", "jobs", "have", "ended"]])


if __name__ == "__main__":
    unittest.main()
