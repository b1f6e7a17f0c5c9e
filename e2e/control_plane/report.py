"""The measurements of a run as a plain table, and whether its expectations were met."""

import sys
import time


FAILURES = []  # of all runs, each a line: the command repeats them at its end


class Report:
    """The lines of one run: each begins with the run's name, because runs may take place at the same time."""

    def __init__(self, name, what):
        self.name = name
        self.failures = []
        self.began = time.monotonic()
        self._print(f"== {what}")

    def row(self, what, value):
        if isinstance(value, float):
            value = f"{value:.1f}"
        self._print(f"{what:<58} {value}")

    def expect(self, good, sentence, details=""):
        """Prints an expectation as ok or FAIL."""
        self._print(f"{'ok  ' if good else 'FAIL'} {sentence}")
        if not good:
            self.failures.append(sentence)
            FAILURES.append(f"{self.name}: {sentence}")
            for line in str(details).splitlines()[:20]:
                self._print(f"     {line}")

    def expect_none(self, found, sentence):
        self.expect(not found, sentence, "\n".join(str(one) for one in found))

    def end(self):
        """Returns whether all expectations were met."""
        self.row("seconds", time.monotonic() - self.began)
        return not self.failures

    def _print(self, line):
        sys.stdout.write(f"{self.name}: {line}\n")  # one write, so that lines of runs do not mix
        sys.stdout.flush()
