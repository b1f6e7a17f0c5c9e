"""The chart's alerts with all times made short, for tests that cannot wait for an hour, which lasts two minutes.

In the text of the rule file every duration becomes a thirtieth of it, and the rules get a label that tells them apart:

  for: 5m                                for: 10s
  rate(x[5m]), x offset 1h, x[1h:1m]     rate(x[10s]), x offset 120s, x[120s:2s]
  > 3600                                 > 120         in expressions, whole numbers of 60 and more: they are seconds
  labels: {severity: warning}            labels: {severity: warning, hour: 2m}

All else stays letter by letter: names, metrics, other thresholds, annotations."""

import re

FACTOR = 30
LABEL, VALUE = "hour", "2m"
# From here on a number that stands for itself is taken for seconds.
LEAST_SECONDS = 60
UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
# 5m, 1h30m, 3600; no part of a name, and no part of 0.05.
NUMBER = re.compile(r"(?<![\w.])\d+(?:[a-z]+(?:\d+[a-z]+)*)?(?![\w.])")
STRING = re.compile(r'("[^"]*")')
HEAD = "    "  # of a rule's fields


def seconds_of(duration):
    """Of "1h30m"."""
    parts = re.findall(r"(\d+)([a-z]+)", duration)
    unknown = {unit for _, unit in parts} - set(UNIT_SECONDS)
    if not parts or unknown:
        raise ValueError(f"{duration}: expected a duration in {', '.join(UNIT_SECONDS)}")
    return sum(int(number) * UNIT_SECONDS[unit] for number, unit in parts)


def _divided(seconds, text):
    if seconds % FACTOR:
        raise ValueError(f"{text}: {seconds} s are no multiple of {FACTOR} s, and rules know whole seconds only")
    return seconds // FACTOR


def _number(match):
    text = match.group()
    if not text.isdigit():
        return f"{_divided(seconds_of(text), text)}s"
    return str(_divided(int(text), text)) if int(text) >= LEAST_SECONDS else text


def expression(text):
    """PromQL with shortened durations; what stands in quotation marks is left alone."""
    return "".join(part if STRING.fullmatch(part) else NUMBER.sub(_number, part) for part in STRING.split(text))


def shortened(text):
    """A rule file, of the form that the chart's has."""
    lines, is_expression = [], False
    for line in text.splitlines():
        # A folded expression goes on in lines that are further in.
        is_expression = line.startswith(f"{HEAD}expr: ") or (is_expression and line.startswith(f"{HEAD}  "))
        if is_expression:
            line = expression(line)
        elif line.startswith(f"{HEAD}for: "):
            line = f"{HEAD}for: {_divided(seconds_of(line.split()[1]), line)}s"
        elif line.startswith(f"{HEAD}labels: {{"):
            line = f"{line.removesuffix('}')}, {LABEL}: {VALUE}}}"
        lines.append(line)
    return "\n".join(lines) + "\n"
