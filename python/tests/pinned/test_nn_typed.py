"""Compares espalier.nn's layers for typed blocks with their formulas, written with torch's own operations in
float64."""

import copy
import math
import unittest

import torch

import espalier as ep
import espalier.nn
import references as ref

COUNTS = {"author": (8, 3), "paper": (9, 5)}
RELATIONS = {("author", "writes", "paper"): 12, ("paper", "cites", "paper"): 10, ("paper", "by", "author"): 7,
             ("author", "likes", "paper"): 0}
IN, OUT = 6, 4


class TypedTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.block = ref.typed_block(COUNTS, RELATIONS)
        self.inputs = {name: torch.randn(count, IN) for name, (count, _) in COUNTS.items()}

    def check(self, layer, found, expected):
        """Expects that both functions return {node type: rows} with equal values and gradients of parameters and
        inputs, to 1e-4."""
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(0.1 * torch.randn(parameter.shape))
        twin = copy.deepcopy(layer).double()
        single = {name: x.clone().requires_grad_() for name, x in self.inputs.items()}
        double = {name: x.double().requires_grad_() for name, x in self.inputs.items()}
        results = found(layer, single), expected(twin, double)
        self.assertEqual(set(results[0]), set(results[1]))
        losses = [0, 0]
        for name, rows in results[0].items():
            torch.testing.assert_close(rows.double(), results[1][name], rtol=1e-4, atol=1e-5)
            weights = torch.randn(rows.shape)
            losses[0] = losses[0] + (rows * weights).sum()
            losses[1] = losses[1] + (results[1][name] * weights.double()).sum()
        losses[0].backward()
        losses[1].backward()
        for one, other in zip((*single.values(), *layer.parameters()), (*double.values(), *twin.parameters())):
            torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-4)


class RelGraph(TypedTest):
    def expected(self, mean):
        def formula(layer, x):
            weights = layer.relation_weights()
            found = {name: rows[:COUNTS[name][1]] @ layer.loop.weight.t() + layer.bias for name, rows in x.items()}
            for number, names in enumerate(RELATIONS):
                sources, rows = ref.ends(self.block, names)
                reduce = ref.means if mean else ref.sums
                found[names[2]] = found[names[2]] + reduce((x[names[0]] @ weights[number])[sources], rows,
                                                           COUNTS[names[2]][1])
            return found

        return formula

    def test_regularizers(self):
        for regularizer, bases in ((None, None), ("basis", 2), ("bdd", 2)):
            for norm in (None, "mean"):
                with self.subTest((regularizer, norm)):
                    layer = ep.nn.RelGraphConv(IN, OUT, len(RELATIONS), regularizer, bases)
                    self.check(layer, lambda layer, x: layer(self.block, x, norm=norm), self.expected(norm == "mean"))

    def test_block_diagonal_matrices(self):
        layer = ep.nn.RelGraphConv(IN, OUT, 1, "bdd", 2)
        weight, = layer.relation_weights()
        self.assertTrue(torch.equal(weight[:3, :2], layer.weight[0, 0]) and not weight[:3, 2:].any())

    def test_types_of_edges_and_norms(self):
        block = ref.random_block()
        sources, rows = ref.ends(block)
        etypes = torch.arange(len(rows)) % 3
        norms = torch.rand(len(rows))
        layer = ep.nn.RelGraphConv(IN, OUT, 3)
        x = torch.randn(block.num_src_nodes(), IN)
        messages = torch.einsum("ei,eio->eo", x[sources], layer.weight[etypes]) * norms[:, None]
        expected = ref.sums(messages, rows, 5) + x[:5] @ layer.loop.weight.t()
        torch.testing.assert_close(layer(block, x, etypes, norms), expected, rtol=1e-4, atol=1e-5)

    def test_refusals(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "there is a relation 2, and the layer has 2"):
            ep.nn.RelGraphConv(IN, OUT, 2)(self.block, self.inputs)
        with self.assertRaisesRegex(ep.InvalidArgument, "must divide in_feat=6"):
            ep.nn.RelGraphConv(IN, OUT, 2, "bdd", 4)
        with self.assertRaisesRegex(ep.InvalidArgument, "etypes must be 14 numbers"):
            ep.nn.RelGraphConv(IN, OUT, 2)(ref.random_block(), torch.ones(9, IN), [0, 1])


class Hgt(TypedTest):
    def expected(self, heads, columns):
        def formula(layer, x):
            """Computes the paper's formula edge by edge, with one softmax over the scores of all relations of a
            destination."""
            found = {}
            for number, name in enumerate(COUNTS):
                own = x[name][:COUNTS[name][1]]
                query = (own @ layer.linear_q[number]).view(-1, heads, columns)
                scores, messages, ends = [], [], []
                for relation, names in enumerate(RELATIONS):
                    if names[2] != name:
                        continue
                    sources, rows = ref.ends(self.block, names)
                    source = list(COUNTS).index(names[0])
                    key = (x[names[0]] @ layer.linear_k[source]).view(-1, heads, columns)[sources]
                    value = (x[names[0]] @ layer.linear_v[source]).view(-1, heads, columns)[sources]
                    key = torch.stack([key[:, h] @ layer.relation_att[relation, h] for h in range(heads)], 1)
                    value = torch.stack([value[:, h] @ layer.relation_msg[relation, h] for h in range(heads)], 1)
                    scores.append((key * query[rows]).sum(2) * layer.relation_pri[relation] / math.sqrt(columns))
                    messages.append(value)
                    ends.append(rows)
                rows = torch.cat(ends)
                weights = ref.softmax(torch.cat(scores), rows, len(own))
                sums = ref.sums(weights.unsqueeze(2) * torch.cat(messages), rows, len(own)).reshape(len(own), -1)
                alpha = torch.sigmoid(layer.skip[number])
                residual = own if layer.residual_w is None else own @ layer.residual_w
                y = sums @ layer.linear_a[number] * alpha + residual * (1 - alpha)
                found[name] = y if layer.norm is None else layer.norm(y)
            return found

        return formula

    def test_against_the_paper(self):
        for heads, columns, use_norm in ((2, 5, False), (2, 3, True)):  # the second needs no residual matrix
            with self.subTest((heads, columns)):
                layer = ep.nn.HGTConv(IN, columns, heads, len(COUNTS), len(RELATIONS), dropout=0, use_norm=use_norm)
                self.assertEqual(layer.residual_w is None, heads * columns == IN)
                self.check(layer, lambda layer, x: layer(self.block, x), self.expected(heads, columns))

    def test_a_graph_of_one_type(self):
        block = ref.random_block()
        layer = ep.nn.HGTConv(IN, 3, 2, 1, 1, dropout=0)
        x = torch.randn(9, IN)
        self.assertTrue(torch.equal(layer(block, x), layer(block, {"node": x})["node"]))


class Hetero(TypedTest):
    def test_aggregates(self):
        layers = {":".join(names): ep.nn.GraphConv(IN, OUT, "right", allow_zero_in_degree=True) for names in RELATIONS}
        alone = {names: layers[":".join(names)](ep.nn.RelationBlock(self.block, names),
                                                (self.inputs[names[0]], self.inputs[names[2]][:COUNTS[names[2]][1]]))
                 for names in RELATIONS}
        papers = torch.stack([rows for names, rows in alone.items() if names[2] == "paper"])
        for aggregate, expected in (("sum", papers.sum(0)), ("mean", papers.mean(0)), ("max", papers.max(0)[0]),
                                    ("min", papers.min(0)[0]), ("stack", papers.transpose(0, 1)),
                                    (lambda rows, name: (len(rows), name), (3, "paper"))):
            found = ep.nn.HeteroGraphConv(layers, aggregate)(self.block, self.inputs)
            self.assertEqual(list(found), ["paper", "author"])
            if callable(aggregate):
                self.assertEqual(found["paper"], expected)
            else:
                self.assertTrue(torch.equal(found["paper"], expected), aggregate)

    def test_relations_by_name_and_arguments(self):
        sage = {relation: ep.nn.SAGEConv((IN, IN), OUT, "mean") for _, relation, _ in RELATIONS}
        layer = ep.nn.HeteroGraphConv(sage)
        weights = torch.full((12,), 3.0)
        found = layer(self.block, self.inputs, mod_kwargs={"writes": {"edge_weight": weights}})
        tripled = layer(self.block, self.inputs, mod_args={("author", "writes", "paper"): (weights,)})
        self.assertTrue(torch.equal(found["paper"], tripled["paper"]))
        plain = layer(self.block, self.inputs)
        self.assertFalse(torch.equal(found["paper"], plain["paper"]))
        self.assertTrue(torch.equal(found["author"], plain["author"]))
        self.assertEqual(list(layer(self.block, {"author": self.inputs["author"]})), [])  # no inputs of papers

    def test_refusals(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "there is no module for author:writes:paper"):
            ep.nn.HeteroGraphConv({"cites": torch.nn.Identity()})(self.block, self.inputs)
        with self.assertRaisesRegex(ep.InvalidArgument, "aggregate must be one of"):
            ep.nn.HeteroGraphConv({}, "median")
        with self.assertRaisesRegex(ep.InvalidArgument, "8 sources of type 'author', and the features are of 2"):
            ep.nn.HGTConv(IN, 3, 2, 2, 4)(self.block, {"author": torch.ones(2, IN)})


if __name__ == "__main__":
    unittest.main()
