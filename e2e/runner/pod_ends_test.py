"""Results of pods, parsed from the output of kubectl."""

import json
import unittest

from runner.pod_ends import End, PodEnds


def pod(rank, state, containers=("trainer",)):
    """Returns kubectl's line for a pod of the second incarnation of `cora`."""
    return json.dumps({
        "metadata": {"name": f"cora-trainer-2-{rank}-abcde",
                     "labels": {"espalier.io/job": "cora", "espalier.io/incarnation": "2"},
                     "annotations": {"batch.kubernetes.io/job-completion-index": str(rank)}},
        "status": {"containerStatuses": [{"name": name, "state": state} for name in containers]}}) + "\n"


class PodEndsTest(unittest.TestCase):
    def test_the_ends_of_programs_are_kept_by_rank(self):
        failed = {"terminated": {"exitCode": 65, "message": "why"}}
        ends = PodEnds([pod(1, {}, containers=()), pod(1, {"running": {}}), pod(1, failed),
                        pod(0, {"terminated": {"exitCode": 0}}), pod(2, failed, containers=["proxy"])])
        ends.join()
        self.assertEqual(ends.wait_for("cora", 1, 2, 0), End(65, "why"))
        self.assertEqual(ends.wait_for("cora", 0, 2, 0), End(0, ""))
        self.assertEqual(ends.rank_of("cora-trainer-2-1-abcde"), 1)
        self.assertEqual([ends.ended("cora", rank, 2) for rank in (2, 3)], [None, None])


if __name__ == "__main__":
    unittest.main()
