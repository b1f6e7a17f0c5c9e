""".dockerignore keeps out of the images' build context what .gitignore keeps out of the repository: outputs of runs
would travel to the builder with every image, gigabytes of them."""

import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def patterns(name):
    lines = (line.strip() for line in (SOURCE / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def expression(pattern):
    """The regular expression of a pattern of .dockerignore: of what it names, and of all below it."""
    text = re.escape(pattern.strip("/")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.compile(text + "(?:/.*)?")


def is_in_context(path):
    """Of several patterns that fit the last one counts."""
    is_in = True
    for pattern in patterns(".dockerignore"):
        if expression(pattern.removeprefix("!")).fullmatch(path):
            is_in = pattern.startswith("!")
    return is_in


def examples(pattern):
    """Paths that a pattern of .gitignore names. Without a slash at its beginning it is for every folder."""
    name = pattern.strip("/").replace("*", "some")
    path = name + "/file" if pattern.endswith("/") else name
    return [path] if pattern.startswith("/") else [path, "services/job/" + path]


class ContextTest(unittest.TestCase):
    def test_what_git_ignores_stays_out(self):
        for pattern in patterns(".gitignore"):
            for path in examples(pattern):
                with self.subTest(path=path):
                    self.assertFalse(is_in_context(path))

    def test_sources_and_the_binaries_that_are_given_are_there(self):
        for path in ("LICENSE", "services/job/parsing/parse.cc", "images/collect.sh", "build/release/bin/espalier",
                     "build/release/bin/espalier-trainer", "build/torch/torch/lib/libtorch_cpu.so",
                     "build/release/python/espalier/_core.abi3.so", "build/python-wheels/python/numpy/__init__.py"):
            self.assertTrue(is_in_context(path), path)
        for path in ("build/torch/torch/include/torch/torch.h", "build/asan/bin/espalier", "build/release/CMakeCache.txt",
                     "build/release/bin/espalier_job_test", "build/release/python/CMakeFiles/module.cc.o",
                     "build/release/python/espalier/bin", "build/python/bin/python"):
            self.assertFalse(is_in_context(path), path)

    def test_nanobind_is_pinned_as_the_package_is_compiled(self):
        pinned = r"nanobind==[0-9.]+"
        self.assertEqual(re.findall(pinned, (SOURCE / "images/nanobind.txt").read_text()),
                         re.findall(pinned, (SOURCE / "python/pyproject.toml").read_text()))


if __name__ == "__main__":
    unittest.main()
