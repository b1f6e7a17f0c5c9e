"""How e2e/run tells its stories: the cluster, the bucket and the chart as objects with words for what scenarios do."""
