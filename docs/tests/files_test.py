"""docs/reference/files.md, 'On each machine', has the places that the operator gives a pod, and no other; what a run
writes is compared by guide_test.py."""

import re
import unittest

from pages import DOCS, SOURCE

# Of a file system: the paths of HTTP and names below a folder begin otherwise.
PLACE = re.compile(r'"(/(?:dev|etc|home|mnt|opt|run|srv|tmp|usr|var)(?:/[^"]*)?)"')


def places_of_the_code():
    found = set()
    for path in (SOURCE / "operator" / "resources").glob("*.cc"):
        if not path.name.endswith("_test.cc"):
            found.update(PLACE.findall(path.read_text()))
    return found


def places_of_the_page():
    _, _, text = (DOCS / "reference" / "files.md").read_text().partition("\n## On each machine\n")
    rows = [line.split("|")[1] for line in text.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    return {place for cell in rows for place in re.findall(r"`(/[^`]+)`", cell)}


def is_in(place, folder):
    """The code has folders, where the page has files of them too."""
    return place == folder or place.startswith(folder + "/")


class FilesTest(unittest.TestCase):
    def test_the_page_lists_exactly_the_paths_of_pods(self):
        code, page = places_of_the_code(), places_of_the_page()
        self.assertGreaterEqual(len(code), 5)
        self.assertEqual([folder for folder in code if not any(is_in(place, folder) for place in page)], [])
        self.assertEqual([place for place in page if not any(is_in(place, folder) for folder in code)], [])


if __name__ == "__main__":
    unittest.main()
