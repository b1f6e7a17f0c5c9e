// GCN, GAT and GATv2 compared with the formulas of their papers on dense matrices.
#include "services/trainer/model/relation_convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "services/trainer/model/parameters.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

constexpr uint32_t kNodes = 12;
constexpr int64_t kFeatures = 6, kOutputs = 4;

ModelOptions OneLayer(job::ModelType type) {
  ModelOptions options;
  options.model.type = type;
  options.model.dropout = 0;
  options.num_layers = 1;
  options.schema = *graph::GraphSchema::Make({"paper"}, {{"paper", "cites", "paper"}});
  options.input_widths = {kFeatures};
  options.num_outputs = kOutputs;
  options.relations = {{EdgeTypeId(0)}};
  options.seed_type = NodeTypeId(0);
  options.seed = 5;
  return options;
}

std::map<std::string, torch::Tensor> GetWeights(const Model& model) {
  std::map<std::string, torch::Tensor> weights;
  for (const auto& [name, tensor] : GetParameters(model)) weights[name] = tensor;
  return weights;
}

// Fills the biases with random values: initially they are zeros, and a missing bias would not be noticed.
void FillBiases(std::map<std::string, torch::Tensor>* weights) {
  const torch::NoGradGuard no_gradient;
  uint64_t seed = 100;
  for (auto& [name, tensor] : *weights) {
    if (name.ends_with("bias")) tensor.copy_(RandomMatrix(++seed, 1, tensor.numel()).view(tensor.sizes()));
  }
}

// Returns the adjacency matrix: the number of edges from u to v at [v, u].
torch::Tensor ToDense(const sampler::Block& block, uint32_t num_sources) {
  const auto num_rows = static_cast<int64_t>(block.indptr.size()) - 1;
  torch::Tensor dense = torch::zeros({num_rows, int64_t{num_sources}});
  for (int64_t v = 0; v < num_rows; ++v) {
    for (uint32_t e = block.indptr[static_cast<size_t>(v)]; e < block.indptr[static_cast<size_t>(v) + 1]; ++e) {
      dense[v][block.indices[e]] += 1;
    }
  }
  return dense;
}

std::vector<float> ToFloats(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

GraphDegrees CountDegrees(const torch::Tensor& adjacency) {
  return {{ToFloats(adjacency.sum(0))}, {ToFloats(adjacency.sum(1))}};
}

// Returns the softmax over existing edges, with a term for each parallel edge.
torch::Tensor MaskedSoftmax(const torch::Tensor& scores, const torch::Tensor& adjacency) {
  const torch::Tensor terms = torch::exp(scores) * adjacency;
  return terms / terms.sum(1, true).clamp_min(1e-30);
}

TEST(GcnTest, MatchesNormalizedSumOfPaper) {
  const sampler::Block graph = RandomBlock(1, kNodes, kNodes, 5);
  const torch::Tensor features = RandomMatrix(2, kNodes, kFeatures), adjacency = ToDense(graph, kNodes);
  const auto model = *MakeModel(OneLayer(job::ModelType::kGcn));
  const GraphDegrees degrees = CountDegrees(adjacency);

  const torch::Tensor got = model->Layer(0, {{graph}, {kNodes}, {kNodes}}, {features}, {.degrees = &degrees})[0];

  const torch::Tensor looped = adjacency + torch::eye(kNodes);
  const torch::Tensor normalized = looped.sum(1).rsqrt().unsqueeze(1) * looped * looped.sum(0).rsqrt().unsqueeze(0);
  const torch::Tensor weight = GetWeights(*model).at("layer0.neighborhood.fc.weight");
  EXPECT_TRUE(torch::allclose(got, torch::mm(torch::mm(normalized, features), weight.t()), 1e-5, 1e-6));
}

// Node 0 has the in-neighbors 1 .. 4, of which two are sampled.
TEST(GcnTest, TheMeanOverAllDrawsIsTheSumOverAllNeighbors) {
  const torch::Tensor features = RandomMatrix(2, 5, kFeatures);
  const GraphDegrees degrees{{{3, 1, 7, 2, 5}}, {{4, 0, 0, 0, 0}}};
  const auto model = *MakeModel(OneLayer(job::ModelType::kGcn));
  const auto output_of = [&](const std::vector<uint32_t>& drawn) {
    sampler::Block block;
    block.indptr = {0, static_cast<uint32_t>(drawn.size())}, block.indices = drawn;
    return model->Layer(0, {{block}, {5}, {1}}, {features}, {.degrees = &degrees})[0];
  };
  torch::Tensor sum = torch::zeros({1, kOutputs});
  for (uint32_t a = 1; a <= 4; ++a) {
    for (uint32_t b = a + 1; b <= 4; ++b) sum = sum + output_of({a, b});
  }
  EXPECT_TRUE(torch::allclose(sum / 6, output_of({1, 2, 3, 4}), 1e-5, 1e-6));
}

struct Distribution {
  double mean, deviation, largest;
};
Distribution MeasureDistribution(const torch::Tensor& values) {
  return {values.mean().item<double>(), values.std().item<double>(), values.abs().max().item<double>()};
}

// DGL 2.1 on the same shapes (GATConv(500, 16, 8), GATv2Conv(500, 16, 8)) has standard deviations of 0.0798 for fc and
// 0.1667 for attn_l and attn_r: xavier_normal_ with the gain of ReLU, which treats [1, 8, 16] as the kernel of a
// convolution.
TEST(GatTest, HasInitialValuesOfDgl) {
  for (const auto type : {job::ModelType::kGat, job::ModelType::kGatv2}) {
    ModelOptions options = OneLayer(type);
    options.input_widths = {500};
    options.num_outputs = 16;
    options.model.output_heads = 8;
    const auto model = *MakeModel(options);
    size_t weights = 0;
    for (const auto& [name, tensor] : GetWeights(*model)) {
      const Distribution spread = MeasureDistribution(tensor);
      if (name.ends_with("bias")) {
        EXPECT_EQ(spread.largest, 0) << name;
        continue;
      }
      ++weights;
      const bool is_attention = name.find("attn") != std::string::npos;
      const double deviation = is_attention ? 0.1667 : 0.0798;
      EXPECT_NEAR(spread.deviation, deviation, deviation * (is_attention ? 0.2 : 0.02)) << name;  // 128 or 64000 values
      EXPECT_NEAR(spread.mean, 0, deviation * (is_attention ? 0.3 : 0.02)) << name;
      if (is_attention) continue;
      EXPECT_GT(spread.largest, 3.5 * deviation) << name << ": not uniform";
    }
    EXPECT_EQ(weights, 3u);
  }
}

TEST(GatTest, MatchesAttentionOfPaper) {
  const sampler::Block graph = RandomBlock(1, kNodes, kNodes, 5);
  const torch::Tensor features = RandomMatrix(2, kNodes, kFeatures);
  const torch::Tensor looped = ToDense(graph, kNodes) + torch::eye(kNodes);
  for (const auto type : {job::ModelType::kGat, job::ModelType::kGatv2}) {
    ModelOptions options = OneLayer(type);
    options.model.output_heads = 3;
    options.model.negative_slope = 0.3;
    const auto model = *MakeModel(options);
    auto weights = GetWeights(*model);
    FillBiases(&weights);

    const torch::Tensor got = model->Layer(0, {{graph}, {kNodes}, {kNodes}}, {features}, {})[0];

    const auto of = [&](const std::string& name) { return weights.at("layer0.neighborhood." + name); };
    torch::Tensor expected = torch::zeros({kNodes, kOutputs});
    for (int64_t h = 0; h < 3; ++h) {
      const auto head = [&](const torch::Tensor& rows) { return rows.slice(1, h * kOutputs, (h + 1) * kOutputs); };
      torch::Tensor scores, values;  // scores[v, u]
      if (type == job::ModelType::kGat) {
        values = head(torch::mm(features, of("fc.weight").t()));
        scores = torch::leaky_relu(
            torch::mv(values, of("attn_dst")[h]).unsqueeze(1) + torch::mv(values, of("attn_src")[h]).unsqueeze(0), 0.3);
      } else {
        values = head(torch::addmm(of("fc_src.bias"), features, of("fc_src.weight").t()));
        const torch::Tensor queries = head(torch::addmm(of("fc_dst.bias"), features, of("fc_dst.weight").t()));
        scores = torch::matmul(torch::leaky_relu(queries.unsqueeze(1) + values.unsqueeze(0), 0.3), of("attn")[h]);
      }
      expected = expected + torch::mm(MaskedSoftmax(scores, looped), values) / 3;
    }
    expected = expected + weights.at("output_bias");
    EXPECT_TRUE(torch::allclose(got, expected, 1e-4, 1e-5)) << got << expected;
  }
}

// Ids: author:writes:paper 0, paper:cites:paper 1.
TEST(RelationalConvolutionTest, TypedLayersAddRelationsAndTheOwnRow) {
  const sampler::Block writes = RandomBlock(3, 5, 6, 3);
  sampler::Block cites = RandomBlock(4, 5, 8, 4);
  cites.edge_type = EdgeTypeId(1);
  const std::vector<const sampler::Block*> blocks = {&writes, &cites};
  const torch::Tensor authors = RandomMatrix(1, 6, kFeatures), papers = RandomMatrix(2, 8, kFeatures);
  GraphDegrees degrees{{std::vector<float>(6, 4), std::vector<float>(8, 9)}, {}};
  for (const sampler::Block* block : blocks) {
    degrees.in.push_back(ToFloats(ToDense(*block, 8).sum(1)));
    for (float& degree : degrees.in.back()) degree = std::max(degree, 1.0f);
  }
  for (const auto type : {job::ModelType::kGcn, job::ModelType::kGat, job::ModelType::kGatv2}) {
    ModelOptions options = OneLayer(type);
    options.model.hidden_size = kFeatures;
    options.schema =
        *graph::GraphSchema::Make({"author", "paper"}, {{"author", "writes", "paper"}, {"paper", "cites", "paper"}});
    options.input_widths = {kFeatures, kFeatures};
    options.relations = {{EdgeTypeId(0), EdgeTypeId(1)}};
    options.seed_type = NodeTypeId(1);
    const auto model = *MakeModel(options);
    auto weights = GetWeights(*model);
    FillBiases(&weights);

    const torch::Tensor got =
        model->Layer(0, {{writes, cites}, {6, 8}, {0, 5}}, {authors, papers}, {.degrees = &degrees})[1];

    const auto projected = [&](const torch::Tensor& rows, const std::string& name) {
      return torch::addmm(weights.at("input." + name + ".bias"), rows, weights.at("input." + name + ".weight").t());
    };
    const torch::Tensor a = projected(authors, "author_0"), p = projected(papers, "paper_1");
    torch::Tensor expected = torch::mm(p.slice(0, 0, 5), weights.at("layer0.self.weight").t());
    for (const sampler::Block* block : blocks) {
      const bool is_writes = block == &writes;
      const torch::Tensor& source = is_writes ? a : p;
      const torch::Tensor adjacency = ToDense(*block, is_writes ? 6 : 8);
      const std::string part =
          is_writes ? "layer0.relation_author:writes:paper_0." : "layer0.relation_paper:cites:paper_1.";
      torch::Tensor coefficients, values;
      if (type == job::ModelType::kGcn) {
        values = torch::mm(source, weights.at(part + "fc.weight").t());
        coefficients = adjacency / (adjacency.sum(1, true).clamp_min(1).sqrt() * (is_writes ? 2 : 3));
      } else if (type == job::ModelType::kGat) {
        values = torch::mm(source, weights.at(part + "fc.weight").t());
        const torch::Tensor mine = torch::mm(p.slice(0, 0, 5), weights.at(part + "fc.weight").t());
        coefficients =
            MaskedSoftmax(torch::leaky_relu(torch::mv(mine, weights.at(part + "attn_dst")[0]).unsqueeze(1) +
                                                torch::mv(values, weights.at(part + "attn_src")[0]).unsqueeze(0),
                                            0.2),
                          adjacency);
      } else {
        values = torch::addmm(weights.at(part + "fc_src.bias"), source, weights.at(part + "fc_src.weight").t());
        const torch::Tensor mine =
            torch::addmm(weights.at(part + "fc_dst.bias"), p.slice(0, 0, 5), weights.at(part + "fc_dst.weight").t());
        coefficients = MaskedSoftmax(torch::matmul(torch::leaky_relu(mine.unsqueeze(1) + values.unsqueeze(0), 0.2),
                                                   weights.at(part + "attn")[0]),
                                     adjacency);
      }
      expected = expected + torch::mm(coefficients, values);
    }
    expected = expected + weights.at("output_bias");
    EXPECT_TRUE(torch::allclose(got, expected, 1e-4, 1e-5)) << got << expected;
  }
}

}  // namespace
}  // namespace espalier::trainer
