"""passed_before.py with temporary folders and a temporary cache."""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import tempfile
import types
import unittest
import unittest.mock

SCRIPT = pathlib.Path(__file__).resolve().with_name("passed_before.py")
PACKAGES = "openssl amd64 3.0.22 install ok installed"


class PassedBefore(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-passed-before-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        self.list_packages(f"echo '{PACKAGES}'")
        self.build = self.folder / "build"
        (self.build / "passed-before").mkdir(parents=True)
        self.program = self.build / "program"
        self.program.write_text("first")
        self.suite = self.folder / "suite"
        (self.suite / "deep").mkdir(parents=True)
        (self.suite / "deep/case.yaml").write_text("a: 1")
        self.register("chart", ["helm.lint", "helm.unittest"], [self.program, self.suite])

    def list_packages(self, command):
        """Replaces dpkg-query by a stub."""
        stub = self.folder / "bin/dpkg-query"
        stub.write_text(f"#!/bin/sh\n{command}\n")
        stub.chmod(0o755)

    def register(self, name, tests, inputs):
        lines = [f"test {test}" for test in tests] + [f"input {path}" for path in inputs]
        (self.build / f"passed-before/{name}.group").write_text("\n".join(lines) + "\n")

    def call(self, command, build=None, **environment):
        """Runs the command in this process."""
        environment = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "ESPALIER_TOOLS": str(self.folder / "cache"), **environment}
        spec = importlib.util.spec_from_file_location("passed_before", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        with unittest.mock.patch.dict(os.environ, environment, clear=True), \
                contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as errors:
            spec.loader.exec_module(module)
            status = module.main([command, str(build or self.build)])
        return types.SimpleNamespace(returncode=status, stdout=output.getvalue(), stderr=errors.getvalue())

    def left_out(self, build=None, **environment):
        """Returns the regular expression that `check` prints."""
        done = self.call("check", build, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(bool(done.stdout), "== left out: " in done.stderr)
        return done.stdout

    def pass_all(self):
        self.left_out()
        done = self.call("record")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_without_a_stamp_everything_runs(self):
        self.assertEqual(self.left_out(), "")
        self.assertFalse((self.folder / "cache").exists())  # a run that does not pass leaves nothing

    def test_passed_tests_are_skipped_and_reported_with_their_key(self):
        self.pass_all()
        done = self.call("check")
        self.assertEqual([name for name in ("helm.lint", "helm.unittest", "helm-lint", "helm.lint2", "a.helm.lint")
                          if re.search(done.stdout, name)], ["helm.lint", "helm.unittest"])
        key, = (path.name for path in (self.folder / "cache/passed/chart").iterdir())
        self.assertIn("left out: helm.lint, helm.unittest: passed on ", done.stderr)
        self.assertIn(f"(key {key})", done.stderr)

    def test_any_change_of_an_input_runs_it_again(self):
        def write(path, text):
            return lambda: path.write_text(text)
        changes = {
            "content": write(self.suite / "deep/case.yaml", "a: 2"), "a program": write(self.program, "second"),
            "a new file": write(self.suite / "new", ""), "a name": lambda: (self.suite / "new").rename(self.suite / "old"),
            "a mode": lambda: (self.suite / "old").chmod(0o755), "a file less": lambda: (self.suite / "old").unlink(),
            "a package": lambda: self.list_packages("echo 'openssl amd64 3.0.23 install ok installed'"),
            "a further input": lambda: self.register("chart", ["helm.lint", "helm.unittest"],
                                                     [self.program, self.suite, self.folder / "bin"]),
            "a further test": lambda: self.register("chart", ["helm.lint", "helm.unittest", "helm.values"],
                                                    [self.program, self.suite])}
        for what, change in changes.items():
            with self.subTest(what):
                shutil.rmtree(self.folder / "cache", ignore_errors=True)
                self.pass_all()
                self.assertNotEqual(self.left_out(), "")
                change()
                self.assertEqual(self.left_out(), "")

    def test_other_files_change_nothing(self):
        self.pass_all()
        (self.folder / "other").write_text("")
        (self.suite / "__pycache__").mkdir()
        (self.suite / "__pycache__/case.pyc").write_text("")
        os.utime(self.program, (1, 1))
        self.assertNotEqual(self.left_out(), "")

    def test_the_same_inputs_in_another_build_folder_have_the_same_key(self):
        self.pass_all()
        moved = self.folder / "moved"
        shutil.copytree(self.build, moved)
        group = moved / "passed-before/chart.group"
        group.write_text(group.read_text().replace(str(self.build), str(moved)))
        self.assertNotEqual(self.left_out(moved), "")

    def test_only_the_group_that_changed_runs(self):
        self.register("plane", ["e2e.control_plane"], [self.suite])
        self.pass_all()
        self.program.write_text("second")
        self.assertEqual(self.left_out(), r"^(e2e\.control_plane)$")

    def test_a_variable_runs_everything(self):
        self.pass_all()
        self.assertEqual(self.left_out(ESPALIER_RUN_ALL="1"), "")
        self.assertNotEqual(self.left_out(ESPALIER_RUN_ALL="0"), "")

    def test_inputs_that_change_during_the_run_are_not_recorded(self):
        self.left_out()
        self.program.write_text("second")
        self.call("record")
        self.assertEqual(self.left_out(), "")
        self.program.write_text("first")
        self.assertNotEqual(self.left_out(), "")

    def test_a_run_is_recorded_once(self):
        self.pass_all()
        self.assertEqual(self.call("record").returncode, 1)

    def test_without_a_package_list_everything_runs(self):
        self.pass_all()
        self.list_packages("exit 2")
        self.pass_all()
        self.assertEqual(self.left_out(), "")

    def test_a_missing_input_is_an_error(self):
        self.register("chart", ["helm.lint"], [self.folder / "nowhere"])
        done = self.call("check")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(str(self.folder / "nowhere"), done.stderr)

    def test_the_newest_stamps_are_kept(self):
        self.pass_all()
        folder = self.folder / "cache/passed/chart"
        for age in range(1, 25):
            stamp = folder / f"{age:032}"
            stamp.touch()
            os.utime(stamp, (1000 - age, 1000 - age))
        newest, = (path.name for path in folder.iterdir() if path.stat().st_mtime > 1000)
        self.pass_all()
        kept = sorted(path.name for path in folder.iterdir())
        self.assertEqual(kept, sorted([newest, *(f"{age:032}" for age in range(1, 20))]))


if __name__ == "__main__":
    unittest.main()
