"""What a run saw, as a plain table, and whether it was what it should have been."""

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
        """One expectation, said in either case."""
        self._print(f"{'ok  ' if good else 'FAIL'} {sentence}")
        if not good:
            self.failures.append(sentence)
            FAILURES.append(f"{self.name}: {sentence}")
            for line in str(details).splitlines()[:20]:
                self._print(f"     {line}")

    def expect_none(self, found, sentence):
        self.expect(not found, sentence, "\n".join(str(one) for one in found))

    def end(self):
        """True where all was as expected."""
        self.row("seconds", time.monotonic() - self.began)
        return not self.failures

    def _print(self, line):
        sys.stdout.write(f"{self.name}: {line}\n")  # in one piece
        sys.stdout.flush()
