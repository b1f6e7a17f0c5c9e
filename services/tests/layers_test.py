"""A file includes headers of its own library and of libraries that its own is declared to depend on, and no other.

Every #include finds every folder, so a header without a source file can be used without a dependency in CMakeLists.txt,
and neither the compiler nor the linker reports it."""

import os
import re
import unittest
from pathlib import Path

SOURCE = Path(os.environ["ESPALIER_SOURCE"])
CALL = re.compile(r"^\s*(espalier_\w+)\(\s*NAME\s+([\w-]+)([^()]*(?:\$<[^()]*>[^()]*)*)\)", re.MULTILINE)
COMMENT = re.compile(r"#.*")
KEYWORDS = {"LAYER", "TEST_LABEL", "SOURCES", "DEPS", "PRIVATE_DEPS", "TESTS", "TEST_DEPS", "PUBLIC_HEADERS",
            "PUBLIC_FOLDER"}
GENERATED = {"espalier::proto"}  # its headers are in the build folder
WITHOUT_LIBRARIES = {"espalier-trainer"}  # includes base/exit_code.h but links no library, so that it starts at once
INCLUDE = re.compile(r'^#include "((?:services|operator)/[^"]+)"', re.MULTILINE)
PUBLIC_INCLUDE = re.compile(r'^#include "espalier/([^"]+(?<!\.pb)\.h)"', re.MULTILINE)  # as other projects include them


def lists_of(text):
    """Returns the arguments of a CMake call by their keyword."""
    lists, words = {}, []
    for word in text.split():
        if word in KEYWORDS:
            words = lists.setdefault(word, [])
        else:
            words.append(word)
    return lists


class Target:
    def __init__(self, folder, name, lists):
        self.folder, self.name = folder, name
        self.sources = [folder / source for source in lists.get("SOURCES", [])]
        self.public = self._ours(lists.get("DEPS", []))
        self.private = self._ours(lists.get("PRIVATE_DEPS", []))

    @staticmethod
    def _ours(deps):
        return [dep.removeprefix("espalier::") for dep in deps if dep.startswith("espalier::") and dep not in GENERATED]


def declared():
    """Returns the libraries by name, and the programs, without those for tests and benchmarks."""
    libraries, programs = {}, []
    for folder in ("services", "operator"):
        for path in sorted((SOURCE / folder).rglob("CMakeLists.txt")):
            for function, name, rest in CALL.findall(COMMENT.sub("", path.read_text())):
                target = Target(path.parent, name, lists_of(rest))
                if function in ("espalier_binary", "espalier_program"):
                    programs.append(target)
                elif function.endswith("library") and "testing" not in function and "plugin" not in function:
                    libraries[name] = target
    return libraries, [program for program in programs if program.name not in WITHOUT_LIBRARIES
                       and not {"testing", "benchmarks"} & {part for path in program.sources for part in path.parts}]


class LayersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.libraries, cls.programs = declared()
        cls.by_folder = {library.folder: library.name for library in cls.libraries.values()}

    def owner(self, path):
        """Returns the library of the nearest parent folder that has one."""
        return next((self.by_folder[folder] for folder in path.parents if folder in self.by_folder), None)

    def reached(self, names):
        """Returns the libraries with their public dependencies."""
        reached, left = set(), list(names)
        while left:
            name = left.pop()
            if name not in reached:
                reached.add(name)
                left += self.libraries[name].public
        return reached

    def missing_dependencies(self, path, names):
        """Returns the includes of a file from libraries that are not among `names`."""
        found = []
        text = path.read_text()
        for header in INCLUDE.findall(text) + [f"services/{name}" for name in PUBLIC_INCLUDE.findall(text)]:
            owner = self.owner(SOURCE / header)
            if "/testing/" in header or (owner and owner not in names):
                found.append(f"{path.relative_to(SOURCE)} includes {header} of {owner}")
        return found

    def headers(self, library):
        return [path for path in sorted(library.folder.rglob("*.h"))
                if self.owner(path) == library.name and "testing" not in path.parts]

    def test_all_libraries_are_read(self):
        self.assertGreater(len(self.libraries), 50)
        self.assertGreater(len(self.programs), 7)
        for target in (*self.libraries.values(), *self.programs):
            unknown = [dep for dep in target.public + target.private if dep not in self.libraries]
            self.assertEqual(unknown, [], target.name)
            self.assertEqual([str(path) for path in target.sources if not path.exists()], [], target.name)

    def test_missing_dependencies_are_found(self):
        path = SOURCE / "services/job/places.h"
        self.assertEqual(self.missing_dependencies(path, {"job"}), [])
        self.assertEqual(self.missing_dependencies(path, {"base"}),
                         ["services/job/places.h includes services/job/dist_training.h of job"])

    def test_a_library_includes_what_it_depends_on(self):
        found = []
        for library in self.libraries.values():
            names = self.reached(library.public + library.private) | {library.name}
            for path in [path for path in library.sources if path.suffix == ".cc"] + self.headers(library):
                found += self.missing_dependencies(path, names)
        self.assertEqual(found, [])

    def test_a_program_includes_what_it_depends_on(self):
        found = []
        for program in self.programs:
            names = self.reached(program.public)
            for path in program.sources:
                found += self.missing_dependencies(path, names)
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
