"""docs/reference/*-parity.md: each row names tests or says why there is nothing, each test that is named exists, and no
name that DGL offers and no request of its users is left out."""

import functools
import re
import unittest

from pages import DOCS, SOURCE

DGL = DOCS / "reference" / "dgl-parity.md"
PAGES = [DGL, DOCS / "reference" / "graphstorm-parity.md"]
DGL_NAMES = DOCS / "tests" / "dgl_names.txt"
REQUESTS = range(1, 28)  # numbered in "What users of DGL ask for"
GTEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", flags=re.MULTILINE)
# Blocks of CMake that say which sources a test program has; a conformance suite has the name of what it is linked to.
PROGRAM = re.compile(r"espalier_(?:library|trainer_library|test|testing_library)\(\s*NAME (\w+)([^()]*)\)")
PYTHON = re.compile(r"add_test\(NAME ([\w.]+)\s+COMMAND [^()]*?\$\{CMAKE_CURRENT_SOURCE_DIR\}/(\S+\.py)\)")


@functools.cache
def tests_of_the_code():
    """Names as the page writes them: program.Suite.Test, scenario.file.test_name, docs.page.test_name, and of the
    Python package python.file.test_name and python.pinned.file.test_name."""
    names = set()
    tests = SOURCE / "python/tests"
    for path in tests.rglob("test_*.py"):
        name = ".".join(["python", *path.relative_to(tests).parent.parts, path.stem.removeprefix("test_")])
        methods = re.findall(r"^    def (test_\w+)", path.read_text(), flags=re.MULTILINE)
        names.update(f"{name}.{method}" for method in methods)
    for folder in ("docs", "services", "operator"):
        for cmake in (SOURCE / folder).rglob("CMakeLists.txt"):
            text = re.sub(r"#.*", "", cmake.read_text())
            for program, arguments in PROGRAM.findall(text):
                for source in re.findall(r"\s(\w[\w/]*\.cc)\b", arguments):
                    found = GTEST.findall((cmake.parent / source).read_text())
                    names.update(f"{program}.{suite}.{test}" for suite, test in found)
            python = {f"scenario.{name}": f"scenarios/{name}.py" for name in re.findall(r"espalier_scenario\((\w+)", text)}
            python.update((f"docs.{name}", f"tests/{name}_test.py") for name in re.findall(r"espalier_docs_test\((\w+) ", text))
            python.update(PYTHON.findall(text))
            for name, file in python.items():
                methods = re.findall(r"^    def (test_\w+)", (cmake.parent / file).read_text(), flags=re.MULTILINE)
                names.update(f"{name}.{method}" for method in methods)
    return names


def rows_of(page):
    """(line, cells) of each row below a table's head."""
    lines = page.read_text().splitlines()
    is_rule = [re.fullmatch(r"\|[-|]+", line) is not None for line in lines] + [False]
    for number, line in enumerate(lines, 1):
        if line.startswith("|") and not is_rule[number - 1] and not is_rule[number]:
            yield number, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows_of_all_pages():
    """(page and line, cells)"""
    return [(f"{page.name}:{number}", cells) for page in PAGES for number, cells in rows_of(page)]


def names_of_dgl():
    """(part of DGL, name) for each name in dgl_names.txt, where a colon separates the part from its names."""
    lines = [line for line in DGL_NAMES.read_text().splitlines() if not line.startswith("#")]
    return [(part, name) for part, _, names in (line.partition(": ") for line in lines) for name in names.split()]


def tests_of(cell):
    return re.findall(r"`([^`]*)`", cell)


def reasons_of(cell):
    """Yields the words of each reason: the text after "**absent**" and its colon, up to a semicolon, without names in
    code."""
    for _, after in re.findall(r"(\*\*absent\*\*)((?:(?!\*\*absent\*\*).)*)", cell):
        _, _, reason = re.sub(r"`[^`]*`", "", after).partition(":")
        yield re.findall(r"[A-Za-z][\w'-]*", reason.partition(";")[0])


class ParityTest(unittest.TestCase):
    maxDiff = None

    def test_every_test_that_a_page_names_exists(self):
        named = {test for _, cells in rows_of_all_pages() for test in tests_of(cells[-1])}
        self.assertGreater(len(named), 150)
        self.assertGreater(len(tests_of_the_code()), 1000)
        self.assertEqual(sorted(named - tests_of_the_code()), [])

    def test_every_row_names_tests_or_a_reason(self):
        for page in PAGES:
            self.assertGreater(len(list(rows_of(page))), 80, page)
        for place, cells in rows_of_all_pages():
            with self.subTest(row=place):
                self.assertEqual(len(cells), 3)
                self.assertEqual(cells[1].startswith("**absent**"), not tests_of(cells[2]), cells[1])
                for reason in reasons_of(cells[1]):
                    self.assertGreaterEqual(len(reason), 5, f"no reason: {cells[1]}")
                self.assertEqual(re.sub(r"`[^`]*`", "", cells[2]).strip(), "", "the last column has tests only")

    def test_every_public_name_of_dgl_is_in_a_row(self):
        self.assertGreater(len(names_of_dgl()), 100)
        asked = {word for _, cells in rows_of(DGL) for code in tests_of(cells[0]) for word in re.findall(r"\w+", code)}
        self.assertEqual([f"{part}: {name}" for part, name in names_of_dgl() if name not in asked], [])

    def test_every_request_of_users_has_a_row(self):
        requests = DGL.read_text().partition("## What users of DGL ask for")[2].partition("\n## ")[0]
        self.assertEqual([int(number) for number in re.findall(r"^\| (\d+)\. ", requests, flags=re.MULTILINE)],
                         list(REQUESTS))


if __name__ == "__main__":
    unittest.main()
