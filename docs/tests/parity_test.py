"""docs/reference/dgl-parity.md: each row names tests or says why there is nothing, and each test that it names exists."""

import functools
import re
import unittest

from pages import DOCS, SOURCE

PAGE = DOCS / "reference" / "dgl-parity.md"
GTEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", flags=re.MULTILINE)
# Blocks of CMake that say which sources a test program has; a conformance suite has the name of what it is linked to.
PROGRAM = re.compile(r"espalier_(?:library|trainer_library|test|testing_library)\(\s*NAME (\w+)([^()]*)\)")
PYTHON = re.compile(r"add_test\(NAME ([\w.]+)\s+COMMAND [^()]*?\$\{CMAKE_CURRENT_SOURCE_DIR\}/(\S+\.py)\)")


@functools.cache
def tests_of_the_code():
    """Names as the page writes them: program.Suite.Test, scenario.file.test_name, docs.page.test_name."""
    names = set()
    for folder in ("docs", "services", "operator"):
        for cmake in (SOURCE / folder).rglob("CMakeLists.txt"):
            text = re.sub(r"#.*", "", cmake.read_text())
            for program, arguments in PROGRAM.findall(text):
                for source in re.findall(r"\s(\w[\w/]*\.cc)\b", arguments):
                    found = GTEST.findall((cmake.parent / source).read_text())
                    names.update(f"{program}.{suite}.{test}" for suite, test in found)
            python = {f"scenario.{name}": f"scenarios/{name}.py" for name in re.findall(r"espalier_scenario\((\w+)\)", text)}
            python.update((f"docs.{name}", f"tests/{name}_test.py") for name in re.findall(r"espalier_docs_test\((\w+) ", text))
            python.update(PYTHON.findall(text))
            for name, file in python.items():
                methods = re.findall(r"^    def (test_\w+)", (cmake.parent / file).read_text(), flags=re.MULTILINE)
                names.update(f"{name}.{method}" for method in methods)
    return names


def rows_of_the_page():
    """(line, cells) of each row below a table's head."""
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        if line.startswith("|") and not re.match(r"\|( DGL \||[-|]+$)", line):
            yield number, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def tests_of(cell):
    return re.findall(r"`([^`]*)`", cell)


class ParityTest(unittest.TestCase):
    maxDiff = None

    def test_every_test_that_the_page_names_exists(self):
        named = {test for _, cells in rows_of_the_page() for test in tests_of(cells[-1])}
        self.assertGreater(len(named), 150)
        self.assertGreater(len(tests_of_the_code()), 1000)
        self.assertEqual(sorted(named - tests_of_the_code()), [])

    def test_every_row_names_tests_or_says_why_there_is_nothing(self):
        rows = list(rows_of_the_page())
        self.assertGreater(len(rows), 150)
        for number, cells in rows:
            with self.subTest(line=number):
                self.assertEqual(len(cells), 3)
                self.assertRegex(cells[1], r"^\*\*absent\*\*.{4}" if not tests_of(cells[2]) else r"^(?!\*\*absent\*\*)")
                self.assertEqual(re.sub(r"`[^`]*`", "", cells[2]).strip(), "", "the last column has tests only")


if __name__ == "__main__":
    unittest.main()
