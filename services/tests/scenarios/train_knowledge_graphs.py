"""UMLS (published filtered MRR: ConvE .94) and Kinship (ConvE .83), by the example job."""

from example_of_triples import DATA, ExampleOfTriples
from harness import espalier

SMALL = {"spec.training.model.hiddenSize": 64, "spec.training.inputs[0].embedding.size": 64,
         "spec.training.task.negatives.count": 64, "spec.training.batchSize": 256, "spec.training.epochs": 60,
         "spec.training.evaluation.everyEpochs": 20, "spec.training.model.dropout": 0.3}


class TrainKnowledgeGraphs(ExampleOfTriples):
    def test_umls(self):
        for scorer in ("DistMult", "ComplEx"):
            self.assertGreaterEqual(self.train(DATA / "umls", scorer, **SMALL), 0.85)

    def test_kinship(self):
        source = self.dir / "kinship"
        process = espalier("import", "--format", "Triples", "--relation-first", DATA / "kinship", "-o", source)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        fields = SMALL | {"spec.graph.source.format": "NPY"}
        self.assertGreaterEqual(self.train(source, "DistMult", **fields), 0.6)
        self.assertGreaterEqual(self.train(source, "ComplEx", **fields), 0.72)
