"""docs/reference/status.md has the fields of the status as crds/disttrainings.yaml describes them."""

import json
import re
import unittest

from pages import DOCS, SOURCE, check_page, with_section

PAGE = DOCS / "reference" / "status.md"
KEY = re.compile(r"^( *)([\w-]+):(?: (.*))?$")
# Which keys stand between a field and the fields in it.
SEPARATORS = {"properties": ".", "items": "[]", "additionalProperties": ".<role>"}


def unquoted(text):
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return json.loads(text) if text.startswith('"') else text


def fields():
    """(path, {keyword: text}) of each field of the status, in the order of the schema."""
    text = (SOURCE / "crds" / "disttrainings.yaml").read_text()
    lines = text[text.index("\n          status:\n") + 1:].splitlines()
    stack, found = [], {}
    for line in lines:
        match = KEY.match(line)
        if not match:
            continue  # an item of a list of plain text
        indent, key, value = len(match[1]), match[2], match[3]
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if indent < 10 or (indent == 10 and key != "status"):
            break
        if value is None:
            stack.append((indent, key))
        else:
            found.setdefault(path_of([name for _, name in stack]), {})[key] = unquoted(value)
    return [(path, facts) for path, facts in found.items() if path != "status"]


def path_of(names):
    """['status', 'properties', 'conditions', 'items'] -> 'status.conditions[]'"""
    path, is_name = names[0], False
    for name in names[1:]:
        if is_name or name not in SEPARATORS:
            path, is_name = path + name, False
        else:
            path, is_name = path + SEPARATORS[name], name == "properties"
    return path


def table():
    lines = ["| path | type | meaning |\n", "|---|---|---|\n"]
    for path, facts in fields():
        if "description" not in facts or facts.get("type") is None:
            continue
        meaning = facts["description"].replace("|", "\\|")
        lines.append(f"| `{path}` | {facts.get('format', facts['type'])} | {meaning} |\n")
    return "".join(lines)


class StatusTest(unittest.TestCase):
    maxDiff = None

    def test_the_table_matches_the_schema(self):
        self.assertGreater(len(fields()), 30)
        check_page(self, PAGE, with_section(PAGE.read_text(), "fields", table()))


if __name__ == "__main__":
    unittest.main()
