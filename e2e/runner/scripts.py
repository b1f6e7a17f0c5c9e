"""Archives of the Python scripts that scenarios train with."""

import io
import pathlib
import zipfile

_HERE = pathlib.Path(__file__).parent
_EXAMPLE = _HERE.parents[1] / "python/examples/simple_graph_convolution.py"
# A job that reads a script: `script` and `trainers` are open.
JOB = _HERE.parent / "scenarios/python_program/job.yaml"
# This script stops on request and resumes from its checkpoint. Halfway it waits for the stop request.
TRAIN = _HERE.parent / "scenarios/python_program/train.py"
LEAST_ACCURACY = 0.78  # docs/python.md


def archive(*paths, **texts):
    """Returns the bytes of a .zip with TRAIN, what it imports, the files `paths`, and a module of each of `texts`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as files:
        for path in (TRAIN, _EXAMPLE, *paths):
            files.write(path, path.name)
        for name, text in texts.items():
            files.writestr(f"{name}.py", text)
    return buffer.getvalue()
