"""What a run saw, as a plain table, and whether it was what it should have been."""

import time


class Report:
    def __init__(self, name):
        self.name = name
        self.failures = []
        self.began = time.monotonic()
        print(f"\n== {name}", flush=True)

    def row(self, what, value):
        if isinstance(value, float):
            value = f"{value:.1f}"
        print(f"  {what:<58} {value}", flush=True)

    def expect(self, good, sentence, details=""):
        """One expectation, said in either case."""
        print(f"  {'ok  ' if good else 'FAIL'} {sentence}", flush=True)
        if not good:
            self.failures.append(sentence)
            for line in str(details).splitlines()[:20]:
                print(f"         {line}", flush=True)

    def expect_none(self, found, sentence):
        self.expect(not found, sentence, "\n".join(str(one) for one in found))

    def end(self):
        """True where all was as expected."""
        self.row("seconds", time.monotonic() - self.began)
        return not self.failures
