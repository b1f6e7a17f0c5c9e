"""clang-tidy finds nothing that .clang-tidy asks for in the sources of libraries and of programs that are shipped."""

import json
import os
import shlex
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import tidy

BUILD = Path(os.environ["ESPALIER_BUILD"])
TARGETS = os.environ["ESPALIER_TIDY_TARGETS"].split()
PROGRAM = os.environ["ESPALIER_CLANG_TIDY"]
COMPILER = os.environ["ESPALIER_COMPILER"]

USE_AFTER_MOVE = """
#include "services/text.h"
size_t Length(std::string text) {
  const std::string taken = std::move(text);
  return taken.size() + text.size();
}
"""


class TidyTest(unittest.TestCase):
    def test_clang_tidy_finds_nothing(self):
        units = tidy.units_of(BUILD, TARGETS)
        self.assertLessEqual({"espalier_base", "espalier", "espalier-operator"}, {unit.name for unit in units})
        runner = tidy.Tidy(PROGRAM, BUILD)
        changed = runner.changed(units)
        print(f"{len(units)} units, {len(units) - len(changed)} of which passed before with the same files", file=sys.stderr)
        found = runner.findings_of(changed)
        # Findings in a header are repeated for each unit.
        lines = dict.fromkeys(line for lines in found.values() for line in lines)
        by_hand = [shlex.join(runner.command(unit.file)) for unit in found]
        if found:
            self.fail("\n".join([f"{len(lines)} findings of clang-tidy; by hand:", *by_hand, *lines]))


class UnitsTest(unittest.TestCase):
    """Tests units with a build of two sources and a separate cache."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="espalier-tidy-")
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name).resolve()
        variables = unittest.mock.patch.dict(os.environ, {"ESPALIER_TOOLS": str(self.build / "cache"), "ESPALIER_RUN_ALL": ""})
        variables.start()
        self.addCleanup(variables.stop)
        self.write("services/text.h", "#pragma once\n#include <string>\n#include <utility>\n")
        self.write("services/a.cc", '#include "services/text.h"\nsize_t Length(const std::string& text) { return text.size(); }\n')
        self.write("services/b.cc", "int Two() { return 2; }\n")
        self.write("CMakeFiles/texts.dir/Unity/unity_0_cxx.cxx", f'#include "{self.build}/services/a.cc"\n')
        self.write("CMakeFiles/texts.dir/Unity/unity_1_cxx.cxx", f'#include "{self.build}/services/b.cc"\n')
        files = [f"{self.build}/CMakeFiles/texts.dir/Unity/unity_{i}_cxx.cxx" for i in range(2)]
        self.write("compile_commands.json", json.dumps([
            {"directory": str(self.build), "file": file,
             "command": f"{COMPILER} -I{self.build} -std=c++20 -o CMakeFiles/texts.dir/{i}.o -c {file}"}
            for i, file in enumerate(files)]))

    def write(self, name, text):
        path = self.build / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def changed(self):
        """Returns a runner without cached file contents, as in a new process, and its changed units."""
        tidy.includes.cache_clear()
        tidy.passed_before._content.cache_clear()
        runner = tidy.Tidy(PROGRAM, self.build)
        return runner, runner.changed(tidy.units_of(self.build, ["texts"]))

    def test_a_unit_is_all_sources_of_a_target_with_what_they_include(self):
        unit, = tidy.units_of(self.build, ["texts", "other"])
        self.assertEqual([path.name for path in unit.files((self.build,))], ["a.cc", "b.cc", "text.h"])

    def test_a_passed_unit_runs_again_after_a_change(self):
        changes = {"a source": ("services/b.cc", "int Two() { return 1 + 1; }\n"),
                   "a header": ("services/text.h", "#pragma once\n#include <string>\n#include <utility>\n// Texts.\n"),
                   "the command": ("compile_commands.json",
                                   (self.build / "compile_commands.json").read_text().replace("-std", "-O1 -std"))}
        for what, change in changes.items():
            with self.subTest(what):
                runner, changed = self.changed()
                self.assertEqual(([unit.name for unit in changed], runner.findings_of(changed)), (["texts"], {}))
                self.assertEqual(self.changed()[1], [])
                self.write(*change)
        self.assertEqual(len(self.changed()[1]), 1)

    def test_a_finding_names_file_line_and_check_until_it_is_fixed(self):
        self.write("services/a.cc", USE_AFTER_MOVE)
        for _ in range(2):
            runner, changed = self.changed()
            (finding,), = runner.findings_of(changed).values()
            self.assertRegex(finding, r"^/.*/services/a\.cc:5:25: error: 'text' used after it was moved \[bugprone-use-after-move,")

    def test_a_source_that_does_not_compile_is_a_finding(self):
        self.write("services/b.cc", "int Two() { return unknown; }\n")
        runner, changed = self.changed()
        (finding,), = runner.findings_of(changed).values()
        self.assertIn("/services/b.cc:1:20: error: use of undeclared identifier 'unknown'", finding)


if __name__ == "__main__":
    unittest.main()
