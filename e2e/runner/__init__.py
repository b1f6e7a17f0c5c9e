"""How e2e/run runs its scenarios: the cluster, the bucket and the chart as objects with methods for the steps."""
