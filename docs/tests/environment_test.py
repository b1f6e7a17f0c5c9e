"""docs/reference/environment.md: the options' variables are made from --help, and every variable that the code names is
on the page, and no other."""

import re
import unittest

from pages import DOCS, SOURCE, check_page, with_section
from programs import helps

PAGE = DOCS / "reference" / "environment.md"
# Names of variables as they stand in the code. A trailing underscore: the rest of the name is put together.
LITERAL = re.compile(r'"((?:ESPALIER|AWS|OMP|MKL|ONEDNN|CUBLAS|NCCL|KUBERNETES|SSL|XDG)_[A-Z0-9_]+|HOME|TERM|KUBECONFIG|NO_COLOR)"')
OPTION = re.compile(r"^  ((?:--?[\w-]+)(?:,--?[\w-]+(?:\{\w+\})?)*)[^\n]*\(Env:([A-Z0-9_]+)\)", flags=re.MULTILINE)
NOT_SHIPPED = ("/testing/", "/tests/", "/fuzz/", "/benchmarks/")


def variables_of_the_code():
    names = set()
    for folder in ("services", "operator"):
        for path in (SOURCE / folder).rglob("*.cc"):
            if path.name.endswith("_test.cc") or any(part in str(path) for part in NOT_SHIPPED):
                continue
            names.update(LITERAL.findall(path.read_text()))
    return names


def variables_of_the_page(text):
    """Those in the first column of the tables; `NAME_<WHAT>` counts as NAME_."""
    names = set()
    for line in text.splitlines():
        if line.startswith("| `"):
            names.update(name.partition("<")[0] for name in re.findall(r"`([A-Z][A-Z0-9_<>]+)`", line.split("|")[1]))
    return names


def table_of_options():
    users = {}
    for command, text in helps():
        for flags, variable in OPTION.findall(text):
            flag = "`, `".join(re.sub(r"\{\w+\}", "", flag) for flag in flags.split(",") if flag.startswith("--"))
            users.setdefault(variable, {}).setdefault(flag, []).append(command)
    lines = ["| variable | option | of |\n", "|---|---|---|\n"]
    for variable in sorted(users):
        for flag, commands in sorted(users[variable].items()):
            lines.append(f"| `{variable}` | `{flag}` | {', '.join(f'`{c}`' for c in commands)} |\n")
    return "".join(lines)


class EnvironmentTest(unittest.TestCase):
    maxDiff = None

    def test_the_page_lists_all_variables_of_options_and_code(self):
        check_page(self, PAGE, with_section(PAGE.read_text(), "options", table_of_options()))
        self.assertGreater(len(variables_of_the_code()), 60)
        self.assertEqual(variables_of_the_page(PAGE.read_text()), variables_of_the_code())


if __name__ == "__main__":
    unittest.main()
