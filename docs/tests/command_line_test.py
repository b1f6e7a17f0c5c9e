"""docs/reference/command-line.md has every program's --help."""

import unittest

from pages import DOCS, check_page
from programs import helps

HEADING = """# Command line

What each program says to `--help`. Where an option names a variable of the environment (`Env:`), the option wins; all
variables are in [environment.md](environment.md). Exit codes are the same for all: [exit-codes.md](../exit-codes.md).

This page is made from the programs: `ESPALIER_UPDATE_DOCS=1 ctest --preset release -R docs.command_line`.
"""


def page():
    text = HEADING
    for command, words in helps():
        level = "##" if " " not in command else "###"
        text += f"\n{level} {command}\n\n```text\n{words}```\n"
    return text


class CommandLineTest(unittest.TestCase):
    maxDiff = None

    def test_the_page_matches_the_help_texts(self):
        check_page(self, DOCS / "reference" / "command-line.md", page())


if __name__ == "__main__":
    unittest.main()
