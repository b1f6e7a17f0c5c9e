"""Runs functions at the same time."""

import threading


def run_together(functions):
    """Calls all functions, each in a thread of its own; one alone is called in the calling thread. Returns their results in
    the same order once all have returned, or raises the error of the first of them that failed. The threads are daemons:
    an exception in the calling thread, as SIGTERM raises, does not wait for them. Programs that a thread started end with
    it (processes.Program)."""
    if len(functions) == 1:
        return [functions[0]()]
    results = [None] * len(functions)
    errors = [None] * len(functions)

    def call(index):
        try:
            results[index] = functions[index]()
        except BaseException as error:  # raised again below, in the calling thread
            errors[index] = error

    threads = [threading.Thread(target=call, args=(index,), daemon=True) for index in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        if error:
            raise error
    return results
