"""docs/operations/troubleshooting.md has every reason that the operator may give, and no other."""

import re
import unittest

from pages import DOCS, SOURCE

PLAN = SOURCE / "operator" / "plan"


def reasons_of_the_code():
    """Of conditions, of lastError and of events."""
    names = set(re.findall(r'inline constexpr char k\w+\[\] = "(\w+)"', (PLAN / "reasons.h").read_text()))
    names.update(re.findall(r'return "(\w+)"', (SOURCE / "services" / "telemetry" / "termination.cc").read_text()))
    status = (SOURCE / "operator" / "api" / "status.h").read_text()
    names.update(re.findall(r'inline constexpr char kAccepted\[\] = "(\w+)"', status))
    for path in PLAN.glob("*.cc"):
        names.update(re.findall(r'\.AddEvent\((?:[^;"]*)EventType::\w+,\s*"([A-Z]\w+)"', path.read_text()))
        for condition in re.findall(r"NoteTrue\(builder, api::k(\w+),", path.read_text()):
            names.add(condition)
    return names


def reasons_of_the_page():
    """In the first column of the tables below the heading 'Reasons'."""
    _, _, text = (DOCS / "operations" / "troubleshooting.md").read_text().partition("\n## Reasons\n")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for cell in rows for name in re.findall(r"`(\w+)`", cell)}


class ReasonsTest(unittest.TestCase):
    def test_the_page_lists_exactly_the_reasons(self):
        self.assertGreater(len(reasons_of_the_code()), 40)
        # Suspended is an event where a condition becomes true, too (NoteSuspension).
        self.assertEqual(reasons_of_the_page(), reasons_of_the_code() | {"Suspended"})


if __name__ == "__main__":
    unittest.main()
