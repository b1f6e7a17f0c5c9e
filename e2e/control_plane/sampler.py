"""Samples of a cluster, taken in a thread of their own while a run goes on with its steps."""

import threading


class Sampler:
    """Calls sample(), which a subclass defines, ten times a second until stop. The subclass calls __init__ when the
    attributes that sample() uses exist."""

    def __init__(self):
        self.samples = 0  # calls that succeeded
        self.failures = []  # errors of the other calls
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.thread.join(timeout=60)

    def _run(self):
        while not self.stopping.wait(0.1):
            try:
                self.sample()
            except Exception as error:  # reported by the run
                self.failures.append(repr(error))
            else:
                self.samples += 1
