"""A graph whose labels only a model that knows relations can learn."""

from harness import Scenario, job


class TypedGraph(Scenario):
    def test_rgcn_beats_a_model_that_ignores_types(self):
        graph = self.generate("--typed", "--nodes", 3000, "--edges", 30000, "--classes", 4, "--features", 8, "--seed", 5)
        inputs = [{"nodeType": node_type, "features": ["node-feat"]} for node_type in ("author", "paper")]
        common = dict(training__task={"type": "NodeClassification", "nodeType": "paper", "label": "node-label",
                                      "split": "random"},
                      training__inputs=inputs, training__epochs=15)

        rgcn = self.run_job(job(graph, **common, training__model={"type": "RGCN", "hiddenSize": 16, "dropout": 0.1}), "rgcn")
        sage = self.run_job(job(graph, **common, training__model={"type": "GraphSAGE", "hiddenSize": 16, "dropout": 0.1}), "sage")

        self.assertGreater(rgcn["testAccuracy"], sage["testAccuracy"] + 0.1)
