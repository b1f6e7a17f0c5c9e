"""Queries a Prometheus through its HTTP API."""

import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request


class QueryError(Exception):
    """Prometheus rejected a query; has its message."""


class Prometheus:
    def __init__(self, url, timeout_seconds=30):
        self.url = url.rstrip("/")
        self.timeout_seconds = timeout_seconds

    def now(self, expression):
        """Returns [(labels, value)] for the current time, without NaN."""
        found = self._ask("query", query=expression)
        if found["resultType"] == "scalar":
            found = {"result": [{"metric": {}, "value": found["result"]}]}
        return [(one["metric"], float(one["value"][1])) for one in found["result"]
                if not math.isnan(float(one["value"][1]))]

    def over(self, expression, seconds, points=120):
        """Returns [(labels, [(time, value)])] for the last `seconds`, without series that have no finite value."""
        end = time.time()
        found = self._ask("query_range", query=expression, start=end - seconds, end=end, step=max(1, seconds / points))
        series = [(one["metric"], [(float(at), float(value)) for at, value in one["values"]
                                   if math.isfinite(float(value))]) for one in found["result"]]
        return [(labels, values) for labels, values in series if values]

    def types_of(self, metric):
        """Returns the types that the scraped processes declare, such as {"counter"}."""
        return {one["type"] for one in self._ask("metadata", metric=metric).get(metric, [])}

    def alerting_rules(self):
        """Returns each alerting rule as in the API: {name, labels, duration, ...}."""
        return [rule for group in self._ask("rules", type="alert")["groups"] for rule in group["rules"]]

    def _ask(self, path, **parameters):
        parameters = urllib.parse.urlencode(parameters)
        # Expressions may be too long for a URL, so they are sent with POST. Other endpoints accept only GET.
        if path.startswith("query"):
            request = urllib.request.Request(f"{self.url}/api/v1/{path}", data=parameters.encode())
        else:
            request = urllib.request.Request(f"{self.url}/api/v1/{path}?{parameters}")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_seconds) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            body = error.read().decode(errors="replace")
            try:
                raise QueryError(json.loads(body)["error"]) from None
            except (ValueError, KeyError):
                raise QueryError(f"{error}: {body[:200]}") from None
