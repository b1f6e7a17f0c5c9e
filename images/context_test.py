""".dockerignore excludes from the images' build context all files that .gitignore excludes from the repository. Otherwise
gigabytes of outputs of runs would be sent to the builder with every image."""

import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def patterns(name):
    lines = (line.strip() for line in (SOURCE / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def expression(pattern):
    """Returns the regular expression of a pattern of .dockerignore. It matches the named path and all paths below it."""
    text = re.escape(pattern.strip("/")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.compile(text + "(?:/.*)?")


def is_in_context(path):
    """Returns whether a path is in the context. If several patterns match, the last one counts."""
    is_in = True
    for pattern in patterns(".dockerignore"):
        if expression(pattern.removeprefix("!")).fullmatch(path):
            is_in = pattern.startswith("!")
    return is_in


def examples(pattern):
    """Returns paths that a pattern of .gitignore matches. A pattern that does not begin with a slash matches in any folder."""
    name = pattern.strip("/").replace("*", "some")
    path = name + "/file" if pattern.endswith("/") else name
    return [path] if pattern.startswith("/") else [path, "services/job/" + path]


class ContextTest(unittest.TestCase):
    def test_ignored_files_are_excluded(self):
        for pattern in patterns(".gitignore"):
            for path in examples(pattern):
                with self.subTest(path=path):
                    self.assertFalse(is_in_context(path))

    def test_sources_and_given_binaries_are_included(self):
        for path in ("LICENSE", "services/job/parsing/parse.cc", "images/collect.sh", "build/release/bin/espalier",
                     "build/release/bin/espalier-trainer", "build/torch/torch/lib/libtorch_cpu.so",
                     "build/release/python/espalier/_core.abi3.so", "build/python-wheels/python/numpy/__init__.py",
                     "build/python-wheels/trainer-cuda/lib/libtorch_cuda.so",
                     "build/arm64/rootfs/usr/bin/espalier"):
            self.assertTrue(is_in_context(path), path)
        for path in ("build/torch/torch/include/torch/torch.h", "build/asan/bin/espalier", "build/release/CMakeCache.txt",
                     "build/release/bin/espalier_job_test", "build/release/python/CMakeFiles/module.cc.o",
                     "build/release/python/espalier/bin", "build/python/bin/python", "build/arm64/sysroot/usr/bin/protoc",
                     "build/arm64/release/bin/espalier"):
            self.assertFalse(is_in_context(path), path)

    def test_nanobind_has_the_pinned_version_of_the_build(self):
        pinned = r"nanobind==[0-9.]+"
        self.assertEqual(re.findall(pinned, (SOURCE / "images/nanobind.txt").read_text()),
                         re.findall(pinned, (SOURCE / "python/pyproject.toml").read_text()))

    def test_torch_is_one_version_in_all_images(self):
        pinned = r"^(?:torch|nvidia-cuda-runtime|nvidia-cuda-cupti)==.*"
        tested = re.findall(pinned, (SOURCE / "python/tests/pinned/requirements.txt").read_text(), re.MULTILINE)
        self.assertEqual(len(tested), 3)
        self.assertEqual(sorted(re.findall(pinned, (SOURCE / "services/cmake/torch-wheels.txt").read_text(), re.MULTILINE)), tested)


if __name__ == "__main__":
    unittest.main()
