"""UMLS, whole, by the example job (published filtered MRR: ConvE .94). More of them: knowledge_graph_figures.py."""

from example_of_triples import DATA, SMALL, ExampleOfTriples


class TrainKnowledgeGraphs(ExampleOfTriples):
    def test_umls(self):
        self.assertGreaterEqual(self.train(DATA / "umls", "ComplEx", **SMALL), 0.85)
