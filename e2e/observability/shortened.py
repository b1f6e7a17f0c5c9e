"""The chart's alerts with durations divided by 30, for tests that cannot wait for an hour: it lasts two minutes.

Each duration in the text of the rule file is divided, and each rule gets a label that distinguishes it:

  for: 5m                                for: 10s
  rate(x[5m]), x offset 1h, x[1h:1m]     rate(x[10s]), x offset 120s, x[120s:2s]
  > 3600                                 > 120         whole numbers of 60 and more in expressions are seconds
  labels: {severity: warning}            labels: {severity: warning, hour: 2m}

Names, metrics, other thresholds and annotations are not changed."""

import re

FACTOR = 30
LABEL, VALUE = "hour", "2m"
# A number without a unit is in seconds if it is at least this large.
LEAST_SECONDS = 60
UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
# 5m, 1h30m, 3600; not a part of a name, nor of 0.05.
NUMBER = re.compile(r"(?<![\w.])\d+(?:[a-z]+(?:\d+[a-z]+)*)?(?![\w.])")
STRING = re.compile(r'("[^"]*")')
HEAD = "    "  # indentation of a rule's fields


def seconds_of(duration):
    """Returns the seconds of a duration such as "1h30m"."""
    parts = re.findall(r"(\d+)([a-z]+)", duration)
    unknown = {unit for _, unit in parts} - set(UNIT_SECONDS)
    if not parts or unknown:
        raise ValueError(f"{duration}: expected a duration in {', '.join(UNIT_SECONDS)}")
    return sum(int(number) * UNIT_SECONDS[unit] for number, unit in parts)


def _divided(seconds, text):
    if seconds % FACTOR:
        raise ValueError(f"{text}: {seconds} s are not a multiple of {FACTOR} s, and rules have whole seconds")
    return seconds // FACTOR


def _number(match):
    text = match.group()
    if not text.isdigit():
        return f"{_divided(seconds_of(text), text)}s"
    return str(_divided(int(text), text)) if int(text) >= LEAST_SECONDS else text


def expression(text):
    """Returns the PromQL expression with shortened durations. Strings are not changed."""
    return "".join(part if STRING.fullmatch(part) else NUMBER.sub(_number, part) for part in STRING.split(text))


def shortened(text):
    """Returns the text of a rule file, in the layout of the chart's, with shortened durations."""
    lines, is_expression = [], False
    for line in text.splitlines():
        # A folded expression continues in lines with deeper indentation.
        is_expression = line.startswith(f"{HEAD}expr: ") or (is_expression and line.startswith(f"{HEAD}  "))
        if is_expression:
            line = expression(line)
        elif line.startswith(f"{HEAD}for: "):
            line = f"{HEAD}for: {_divided(seconds_of(line.split()[1]), line)}s"
        elif line.startswith(f"{HEAD}labels: {{"):
            line = f"{line.removesuffix('}')}, {LABEL}: {VALUE}}}"
        lines.append(line)
    return "\n".join(lines) + "\n"
