"""Checks of e2e/run before the first scenario."""

import contextlib
import io
import os
import pathlib
import tempfile
import types
import unittest
from unittest import mock

from runner import command_line, here, levels
from runner.rounds import Outcome

IN_ENVIRONMENT = {name: "given" for name in command_line.NEEDED}


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.programs = pathlib.Path(folder.name)
        self.reports = self.programs / "reports"
        self.start(mock.patch.dict(os.environ, {**IN_ENVIRONMENT, "ESPALIER_E2E_CLUSTER": "main",
                                                "ESPALIER_E2E_CLI": str(self.programs / here.PROGRAM)}))
        for name in ("signal.signal", "run", "Bucket", "say"):
            self.start(mock.patch(f"runner.command_line.{name}"))
        self.chart = self.start(mock.patch("runner.command_line.chart"))
        self.chart.used_by_others.return_value = None
        self.run_rounds = self.start(mock.patch("runner.command_line.run_rounds", return_value=True))

    def start(self, patch):
        self.addCleanup(patch.stop)
        return patch.start()

    def build(self, *names):
        for name in names:
            (self.programs / name).touch(mode=0o755)

    def main(self, *words):
        """Returns (exit status, standard error)."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            return command_line.main(["--reports", str(self.reports), *words], ""), said.getvalue()

    def test_the_chart_is_installed_without_local_programs(self):
        self.assertEqual(self.main("--prepare"), (0, ""))
        self.chart.install.assert_called_once_with()

    def test_times_are_kept_until_the_chart_is_prepared_again(self):
        self.build(here.PROGRAM, here.PLUGIN)

        def run_rounds(scenarios, world, reports, times, rounds, max_seconds):
            rounds.append([Outcome(name, 12.5, True) for name in scenarios])
            return True

        self.run_rounds.side_effect = run_rounds
        for name in ("happy_path", "held_back"):
            self.assertEqual(self.main(name), (0, ""))
        self.assertEqual(levels.kept(self.reports),
                         [Outcome("happy_path", 12.5, True), Outcome("held_back", 12.5, True)])
        self.main("--prepare")
        self.assertEqual(levels.kept(self.reports), [])

    def test_scenarios_that_need_our_cluster_are_skipped_elsewhere(self):
        self.build(here.PROGRAM, here.PLUGIN, "espalier_example_ask_degrees", "espalier_example_degrees.so",
                   "espalier_example_rows.so")
        self.assertEqual(self.main("--kubeconfig", str(self.programs / "config"), "--level", "full"), (0, ""))
        self.assertEqual(os.environ["KUBECONFIG"], str((self.programs / "config").resolve()))
        self.assertNotIn("ESPALIER_E2E_CLUSTER", os.environ)
        ran = self.run_rounds.call_args.args[0]
        for name in ("happy_path", "deletion", "first_job", "suspend_and_resume"):
            self.assertIn(name, ran)
        # No process is killed and no node drained there; numbers are the same on the same kind of processor.
        for name in ("killed_pods", "drained_node", "same_numbers"):
            self.assertNotIn(name, ran)

    def test_a_cluster_that_already_has_espalier_is_refused(self):
        self.build(here.PROGRAM, here.PLUGIN)
        self.chart.used_by_others.return_value = "it has DistTrainings"
        status, said = self.main("--kubeconfig", "config", "happy_path")
        self.assertEqual(status, command_line.UNAVAILABLE_STATUS)
        self.assertIn("it has DistTrainings", said)
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(SystemExit, "64"):
            command_line.main(["--kubeconfig", "config", "--prepare"], "")
        self.run_rounds.assert_not_called()
        self.chart.install.assert_not_called()
        os.environ["ESPALIER_E2E_CLUSTER"] = "main"  # on ours the chart stays between runs
        self.assertEqual(self.main("happy_path"), (0, ""))

    def test_scenarios_that_need_numpy_are_skipped_without_it(self):
        self.build(here.PROGRAM, here.PLUGIN)
        for has_numpy in (True, False):
            with mock.patch.object(here, "has_numpy", return_value=has_numpy):
                self.assertIsNone(command_line.lack_of(types.SimpleNamespace()))
                lack = command_line.lack_of(types.SimpleNamespace(NEEDS_NUMPY=True))
                self.assertEqual(lack is None, has_numpy, lack)

    def test_scenarios_that_need_an_api_are_skipped_where_it_is_not_served(self):
        self.build(here.PROGRAM, here.PLUGIN, "espalier_example_ask_degrees", "espalier_example_degrees.so",
                   "espalier_example_rows.so", "espalier_example_link_embeddings", "espalier_example_training_loop")
        for returncode, is_served in ((0, True), (1, False)):
            attempt = mock.Mock(return_value=mock.Mock(returncode=returncode))
            with self.subTest(is_served), mock.patch.object(command_line, "attempt", attempt):
                self.assertEqual(self.main("--level", "full"), (0, ""))
                attempt.assert_called_once_with(["kubectl", "get", "--raw", "/apis/scheduling.k8s.io/v1beta1"])
                self.assertEqual("gangs" in self.run_rounds.call_args.args[0], is_served)
        said = io.StringIO()
        with mock.patch.object(command_line, "attempt", attempt), contextlib.redirect_stderr(said), \
                self.assertRaisesRegex(SystemExit, "64"):
            command_line.main(["gangs"], "")
        self.assertEqual(said.getvalue(), "e2e/run: gangs needs an API server that serves scheduling.k8s.io/v1beta1 "
                         "(e2e/cluster up --kubernetes newest)\n")

    def test_a_cluster_that_cannot_be_reached_is_reported_before_its_apis(self):
        with mock.patch.object(command_line, "run", side_effect=command_line.Failure("no route")), \
                mock.patch.object(command_line, "attempt") as attempt:
            self.assertEqual(self.main("gangs"), (command_line.UNAVAILABLE_STATUS, "e2e/run: no route\n"))
            attempt.assert_not_called()

    def test_images_are_built_only_for_scenarios_that_have_their_graph(self):
        scenario = types.SimpleNamespace(NEEDS_IMAGES=["python-torch"], NEEDS_GRAPH="graph")
        for graph, expected in ((None, []), (pathlib.Path("graph"), [mock.call("python-torch", "e2e-1")])):
            with self.subTest(graph), mock.patch.object(here, "test_data", return_value=graph), \
                    mock.patch.object(command_line, "Cluster") as cluster, \
                    mock.patch.object(command_line.images, "ensure_more", return_value="tar") as ensure_more:
                cluster.return_value.settings = {"image_tag": "e2e-1"}
                command_line.make_images("main", {"chapter": scenario})
                self.assertEqual(ensure_more.call_args_list, expected)

    def test_tools_of_scenarios_are_built_once_and_named_in_the_environment(self):
        scenario = types.SimpleNamespace(NEEDS_TOOLS=["kueue"])
        with mock.patch.object(command_line, "run", return_value="/tools/kueue-1\n") as run, \
                mock.patch.dict(os.environ):
            command_line.make_tools({"one": scenario, "two": scenario, "three": types.SimpleNamespace()})
            run.assert_called_once_with([command_line.SOURCE / "e2e/tools/build.sh", "kueue"],
                                        timeout=command_line.TOOL_SECONDS)
            self.assertEqual(os.environ["ESPALIER_KUEUE"], "/tools/kueue-1")

    def test_scenarios_run_after_their_programs_are_built(self):
        status, said = self.main("happy_path")
        self.assertEqual(status, command_line.UNAVAILABLE_STATUS)
        self.assertIn(f"not built: {self.programs / here.PROGRAM}, {self.programs / here.PLUGIN};", said)
        self.run_rounds.assert_not_called()
        self.build(here.PROGRAM, here.PLUGIN)
        self.assertEqual(self.main("happy_path"), (0, ""))
        self.run_rounds.assert_called_once()

    def test_programs_of_one_scenario_are_built_only_for_it(self):
        self.build(here.PROGRAM, here.PLUGIN)
        status, said = self.main("happy_path", "own_program", "server_plugin")
        self.assertEqual(status, command_line.UNAVAILABLE_STATUS)
        for name in ("espalier_example_training_loop", "espalier_example_degrees.so", "espalier_example_ask_degrees"):
            self.assertIn(str(self.programs / name), said)
        self.run_rounds.assert_not_called()


if __name__ == "__main__":
    unittest.main()
