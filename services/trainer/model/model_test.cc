// The models with small graphs: mini-batches compared with full-graph inference, gradients compared with finite
// differences, dropout, initial values, and state; also settings of arithmetic, and conversion of tensors.
#include "services/trainer/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "services/format/files/safetensors.h"
#include "services/job/enum_names.h"
#include "services/trainer/model/linear.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/ops/autocast.h"
#include "services/trainer/ops/math_setup.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

constexpr NodeTypeId kOnlyType(0);

graph::GraphSchema OneType() { return *graph::GraphSchema::Make({"paper"}, {{"paper", "cites", "paper"}}); }
// Ids: author 0, paper 1; author:writes:paper 0, paper:cites:paper 1, paper:written_by:author 2.
graph::GraphSchema TwoTypes() {
  return *graph::GraphSchema::Make(
      {"author", "paper"},
      {{"author", "writes", "paper"}, {"paper", "cites", "paper"}, {"paper", "written_by", "author"}});
}

ModelOptions HomogeneousOptions(job::Aggregator aggregator = job::Aggregator::kMean) {
  ModelOptions options;
  options.model = {.type = job::ModelType::kGraphSage, .aggregator = aggregator, .hidden_size = 9, .dropout = 0};
  options.schema = OneType();
  options.input_widths = {6};
  options.num_outputs = 4;
  options.relations = {{EdgeTypeId(0)}, {EdgeTypeId(0)}};
  options.seed_type = kOnlyType;
  options.seed = 11;
  return options;
}
ModelOptions TypedOptions(job::ModelType type, int64_t num_bases = 0) {
  ModelOptions options = HomogeneousOptions();
  options.model.type = type;
  options.model.num_bases = num_bases;
  options.schema = TwoTypes();
  options.input_widths = {0, 5};  // authors have no features
  const std::vector<EdgeTypeId> all = {EdgeTypeId(0), EdgeTypeId(1), EdgeTypeId(2)};
  options.relations = {all, all};
  options.seed_type = NodeTypeId(1);
  return options;
}

// Returns the degrees of the given nodes of a homogeneous graph.
GraphDegrees CountDegrees(const sampler::Block& graph, const std::vector<int64_t>& nodes) {
  std::vector<float> out(graph.indptr.size() - 1, 0);
  for (const uint32_t source : graph.indices) ++out[source];
  GraphDegrees degrees{{{}}, {{}}};
  for (const int64_t node : nodes) {
    const auto v = static_cast<size_t>(node);
    degrees.out[0].push_back(out[v]);
    degrees.in[0].push_back(static_cast<float>(graph.indptr[v + 1] - graph.indptr[v]));
  }
  return degrees;
}
GraphDegrees CountDegrees(const sampler::Block& graph) {
  std::vector<int64_t> nodes(graph.indptr.size() - 1);
  std::iota(nodes.begin(), nodes.end(), 0);
  return CountDegrees(graph, nodes);
}

struct Batch {
  std::vector<sampler::BatchLayer> layers;
  std::vector<int64_t> nodes;  // by row
};

// Returns the mini-batch with all in-edges over two hops; nodes are numbered by first occurrence.
Batch FullNeighborhood(const sampler::Block& graph, const std::vector<int64_t>& seeds) {
  Batch batch{std::vector<sampler::BatchLayer>(2), seeds};
  for (size_t layer = 2; layer-- > 0;) {
    const auto num_outputs = static_cast<uint32_t>(batch.nodes.size());
    sampler::Block block;
    block.edge_type = EdgeTypeId(0);
    block.indptr.push_back(0);
    for (uint32_t row = 0; row < num_outputs; ++row) {
      const auto node = static_cast<size_t>(batch.nodes[row]);
      for (uint32_t e = graph.indptr[node]; e < graph.indptr[node + 1]; ++e) {
        auto found = std::find(batch.nodes.begin(), batch.nodes.end(), int64_t{graph.indices[e]});
        block.indices.push_back(static_cast<uint32_t>(found - batch.nodes.begin()));
        if (found == batch.nodes.end()) batch.nodes.push_back(graph.indices[e]);
      }
      block.indptr.push_back(static_cast<uint32_t>(block.indices.size()));
    }
    batch.layers[layer] = {{block}, {static_cast<uint32_t>(batch.nodes.size())}, {num_outputs}};
  }
  return batch;
}

torch::Tensor Forward(Model& model, const std::vector<sampler::BatchLayer>& layers, TypedRows rows, const LayerRun& run,
                      NodeTypeId seed_type = kOnlyType) {
  for (int layer = 0; layer < model.num_layers(); ++layer) {
    rows = model.Layer(layer, layers[static_cast<size_t>(layer)], rows, run);
  }
  return rows[seed_type.value];
}

// Returns a layer of the graph with two types that reads 6 and 8 rows and writes 3 and 5.
sampler::BatchLayer TypedLayer(uint64_t seed) {
  sampler::BatchLayer layer{
      {RandomBlock(seed, 5, 6, 3), RandomBlock(seed + 1, 5, 8, 4), RandomBlock(seed + 2, 3, 8, 3)}, {6, 8}, {3, 5}};
  for (uint16_t r = 0; r < 3; ++r) layer.blocks[r].edge_type = EdgeTypeId(r);
  return layer;
}
// Returns two layers, of which the second writes only papers.
std::vector<sampler::BatchLayer> TypedLayers() {
  sampler::BatchLayer last{
      {RandomBlock(31, 2, 3, 3), RandomBlock(32, 2, 5, 4), RandomBlock(33, 0, 5, 3)}, {3, 5}, {0, 2}};
  for (uint16_t r = 0; r < 3; ++r) last.blocks[r].edge_type = EdgeTypeId(r);
  return {TypedLayer(20), last};
}

std::vector<std::pair<std::string, ModelOptions>> AllModels() {
  std::vector<std::pair<std::string, ModelOptions>> models = {{"mean", HomogeneousOptions(job::Aggregator::kMean)},
                                                              {"gcn", HomogeneousOptions(job::Aggregator::kGcn)},
                                                              {"pool", HomogeneousOptions(job::Aggregator::kPool)},
                                                              {"rgcn", HomogeneousOptions()},
                                                              {"layer norm", HomogeneousOptions()},
                                                              {"batch norm", HomogeneousOptions()}};
  for (const auto type : {job::ModelType::kGcn, job::ModelType::kGat, job::ModelType::kGatv2}) {
    ModelOptions options = HomogeneousOptions();
    options.model.type = type;
    options.model.heads = 3;
    options.model.output_heads = 2;
    models.emplace_back(job::ToString(type), options);
  }
  models[3].second.model.type = job::ModelType::kRgcn;
  models[4].second.model.normalization = job::LayerNormalization::kLayer;
  models[5].second.model.normalization = job::LayerNormalization::kBatch;
  return models;
}

TEST(ModelTest, LayerWiseInferenceEqualsMiniBatchesWithAllNeighbors) {
  const sampler::Block graph = RandomBlock(1, 40, 40, 5);
  const torch::Tensor features = RandomMatrix(2, 40, 6);
  const sampler::BatchLayer whole{{graph}, {40}, {40}};
  for (auto& [name, options] : AllModels()) {
    const auto model = *MakeModel(options);
    const Batch batch = FullNeighborhood(graph, {17, 3, 39});
    const GraphDegrees degrees = CountDegrees(graph), batch_degrees = CountDegrees(graph, batch.nodes);

    const torch::Tensor all = Forward(*model, {whole, whole}, {features}, {.degrees = &degrees});
    const torch::Tensor seeds = Forward(*model, batch.layers, {features.index_select(0, torch::tensor(batch.nodes))},
                                        {.degrees = &batch_degrees});

    EXPECT_TRUE(torch::allclose(all.index_select(0, torch::tensor({17, 3, 39})), seeds, 1e-4, 1e-5)) << name;
  }
}

TEST(ModelTest, GradientsMatchFiniteDifferences) {
  const sampler::Block graph = RandomBlock(1, 20, 20, 4);
  const torch::Tensor features = RandomMatrix(2, 20, 6) * 2;
  const sampler::BatchLayer whole{{graph}, {20}, {20}};
  const GraphDegrees degrees = CountDegrees(graph);
  for (auto& [name, options] : AllModels()) {
    const auto model = *MakeModel(options);
    const bool training = options.model.normalization == job::LayerNormalization::kBatch;
    for (const auto& [parameter, values] : GetParameters(*model)) {
      // ReLU and the maximum are not differentiable everywhere, which requires a short step; f32 requires a tolerance.
      ExpectGradientOfFiniteDifferences(
          name + " " + parameter, values,
          [&, &model = model] {
            return WeightedSum(
                Forward(*model, {whole, whole}, {features}, {.training = training, .degrees = &degrees}));
          },
          /*step=*/5e-4, /*tolerance=*/5e-2);
    }
  }
}

TEST(ModelTest, TypedGradientsMatchFiniteDifferences) {
  const torch::Tensor papers = RandomMatrix(3, 8, 5);
  for (const ModelOptions& options : {TypedOptions(job::ModelType::kRgcn), TypedOptions(job::ModelType::kRgcn, 2),
                                      TypedOptions(job::ModelType::kGraphSage), TypedOptions(job::ModelType::kGat),
                                      TypedOptions(job::ModelType::kGatv2)}) {
    const auto model = *MakeModel(options);
    const auto layers = TypedLayers();
    for (const auto& [parameter, values] : GetParameters(*model)) {
      if (parameter.find("written_by") != std::string::npos && parameter.find("layer1") == 0)
        continue;  // no seed depends on it
      ExpectGradientOfFiniteDifferences(
          parameter, values,
          [&, &model = model] {
            return WeightedSum(Forward(*model, layers, {{}, papers}, {}, NodeTypeId(1)));
          },
          /*step=*/5e-4, /*tolerance=*/5e-2);
    }
  }
}

// Values with 8 significant bits are within 1/256 of the exact ones. Gradients of maxima and of ReLU differ more, where
// rounding changes which element is the largest.
TEST(ModelTest, ProductsInBf16ChangeOutputsAndGradientsOnlySlightly) {
  const sampler::Block graph = RandomBlock(1, 40, 40, 5);
  const sampler::BatchLayer whole{{graph}, {40}, {40}};
  const GraphDegrees degrees = CountDegrees(graph);
  std::vector<std::pair<std::string, ModelOptions>> models = AllModels();
  for (const auto type : {job::ModelType::kRgcn, job::ModelType::kGraphSage, job::ModelType::kGat}) {
    models.emplace_back(std::string("typed ") + job::ToString(type), TypedOptions(type));
  }
  models.emplace_back("typed RGCN with bases", TypedOptions(job::ModelType::kRgcn, 2));
  for (auto& [name, options] : models) {
    const bool is_typed = options.schema.num_node_types() > 1;
    const bool training = options.model.normalization == job::LayerNormalization::kBatch;
    // Returns the outputs, and the gradients of all parameters that they depend on in one vector.
    const auto compute = [&, &name = name, &options = options](job::Precision precision) {
      options.precision = precision;
      const auto model = *MakeModel(options);
      const torch::Tensor outputs =
          is_typed
              ? Forward(*model, TypedLayers(), {{}, RandomMatrix(3, 8, 5)}, {}, NodeTypeId(1))
              : Forward(*model, {whole, whole}, {RandomMatrix(2, 40, 6)}, {.training = training, .degrees = &degrees});
      WeightedSum(outputs).backward();
      std::vector<torch::Tensor> gradients;
      for (const auto& [parameter, values] : GetParameters(*model)) {
        EXPECT_EQ(values.scalar_type(), torch::kFloat32) << name << " " << parameter;
        if (values.grad().defined()) gradients.push_back(values.grad().flatten());
      }
      return std::pair(outputs.detach(), torch::cat(gradients));
    };
    const auto [exact, exact_gradients] = compute(job::Precision::kF32);
    const auto [rounded, rounded_gradients] = compute(job::Precision::kBf16);
    EXPECT_EQ(rounded.scalar_type(), torch::kFloat32) << name;
    EXPECT_EQ(rounded_gradients.scalar_type(), torch::kFloat32) << name;
    EXPECT_FALSE(torch::equal(rounded, exact)) << name;
    EXPECT_LE((rounded - exact).norm().item<double>(), 0.02 * exact.norm().item<double>()) << name;
    EXPECT_LE((rounded_gradients - exact_gradients).norm().item<double>(), 0.15 * exact_gradients.norm().item<double>())
        << name;
  }
}

TEST(ModelTest, ALinearMapInBf16ReturnsItsRoundedProductsInF32) {
  const torch::Tensor x = RandomMatrix(5, 9, 7);
  Linear linear(7, 3, Bias::kZeros, /*gain=*/1.0, /*seed=*/1, "linear");
  const torch::Tensor exact = linear->forward(x);
  const AutocastScope autocast(job::Precision::kBf16, torch::kCPU);
  const torch::Tensor rounded = linear->forward(x);
  EXPECT_EQ(rounded.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(rounded, rounded.to(torch::kBFloat16).to(torch::kFloat32)));
  EXPECT_FALSE(torch::equal(exact, exact.to(torch::kBFloat16).to(torch::kFloat32)));
}

TEST(ModelTest, RgcnIsTheSumOfItsRelations) {
  ModelOptions options = TypedOptions(job::ModelType::kRgcn);
  options.num_layers = 1;
  options.relations.resize(1);
  const auto model = *MakeModel(options);
  const sampler::BatchLayer edges = TypedLayer(20);
  const torch::Tensor papers = RandomMatrix(3, 8, 5);
  std::map<std::string, torch::Tensor> weights;
  for (const auto& [name, tensor] : GetParameters(*model)) weights[name] = tensor;

  const torch::Tensor got = model->Layer(0, edges, {{}, papers}, {})[1];

  const torch::Tensor projected =
      torch::mm(papers, weights.at("input.paper_1.weight").t()) + weights.at("input.paper_1.bias");
  const torch::Tensor authors = weights.at("input.author_0").expand({6, 9});
  const auto mean = [](const sampler::Block& block, const torch::Tensor& x, size_t row) {
    torch::Tensor sum = torch::zeros({x.size(1)});
    for (uint32_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e) sum = sum + x[block.indices[e]];
    return sum / std::max(1.0, static_cast<double>(block.indptr[row + 1] - block.indptr[row]));
  };
  for (size_t row = 0; row < 5; ++row) {
    const torch::Tensor expected =
        torch::mv(weights.at("layer0.self.weight"), projected[static_cast<int64_t>(row)]) +
        torch::mv(weights.at("layer0.relation_author:writes:paper_0").t(), mean(edges.blocks[0], authors, row)) +
        torch::mv(weights.at("layer0.relation_paper:cites:paper_1").t(), mean(edges.blocks[1], projected, row));
    EXPECT_TRUE(torch::allclose(got[static_cast<int64_t>(row)], expected, 1e-4, 1e-5)) << row;
  }
}

TEST(ModelTest, SageOnTypedGraphMatchesUntyped) {
  // The same papers and edges, once with all edges in one relation and once with the edges in two relations.
  ModelOptions two = HomogeneousOptions(), one = HomogeneousOptions();
  two.schema = *graph::GraphSchema::Make({"paper"}, {{"paper", "cites", "paper"}, {"paper", "likes", "paper"}});
  two.relations = {{EdgeTypeId(0), EdgeTypeId(1)}, {EdgeTypeId(0), EdgeTypeId(1)}};
  sampler::Block cites, likes, both;
  cites.indptr = {0, 2, 2, 3}, cites.indices = {1, 3, 0};
  likes.indptr = {0, 1, 2, 2}, likes.indices = {2, 4}, likes.edge_type = EdgeTypeId(1);
  both.indptr = {0, 3, 4, 5}, both.indices = {1, 3, 2, 4, 0};
  const torch::Tensor features = RandomMatrix(1, 5, 6);

  const torch::Tensor from_two = (*MakeModel(two))->Layer(0, {{cites, likes}, {5}, {3}}, {features}, {})[0];
  const torch::Tensor from_one = (*MakeModel(one))->Layer(0, {{both}, {5}, {3}}, {features}, {})[0];

  EXPECT_TRUE(torch::equal(from_two, from_one));
}

class DropoutTest : public testing::TestWithParam<job::ModelType> {};

TEST_P(DropoutTest, MasksBelongToNodesNotToRows) {
  ModelOptions options = HomogeneousOptions();
  options.model.type = GetParam();
  options.model.dropout = 0.5;
  options.model.attention_dropout = 0.5;
  options.model.heads = 9;
  const auto model = *MakeModel(options);
  const sampler::Block graph = RandomBlock(1, 40, 40, 5);
  const torch::Tensor features = RandomMatrix(2, 40, 6);
  const auto outputs_of = [&](const std::vector<int64_t>& seeds, uint32_t step) {
    const Batch batch = FullNeighborhood(graph, seeds);
    const torch::Tensor nodes = torch::tensor(batch.nodes);
    const std::vector<torch::Tensor> original_ids = {nodes};
    const GraphDegrees degrees = CountDegrees(graph, batch.nodes);
    const LayerRun run{
        .training = true, .seed = 1, .epoch = 2, .step = step, .original_ids = &original_ids, .degrees = &degrees};
    return Forward(*model, batch.layers, {features.index_select(0, nodes)}, run);
  };
  const torch::Tensor forward = outputs_of({5, 9, 30}, 0), backward = outputs_of({30, 9, 5}, 0);
  EXPECT_TRUE(torch::allclose(forward, backward.flip(0), 1e-5, 1e-6));
  EXPECT_FALSE(torch::allclose(forward, outputs_of({5, 9, 30}, 1), 1e-2, 1e-2));
}

INSTANTIATE_TEST_SUITE_P(ModelTest, DropoutTest,
                         testing::Values(job::ModelType::kGraphSage, job::ModelType::kGcn, job::ModelType::kGat,
                                         job::ModelType::kGatv2),
                         [](const auto& instance) { return std::string(job::ToString(instance.param)); });

TEST(ModelTest, ATrainerWithoutSeedsGivesZeroGradientsForEveryParameter) {
  for (const ModelOptions& options :
       {HomogeneousOptions(), TypedOptions(job::ModelType::kRgcn, 2), TypedOptions(job::ModelType::kGraphSage),
        TypedOptions(job::ModelType::kGcn), TypedOptions(job::ModelType::kGat), TypedOptions(job::ModelType::kGatv2)}) {
    const auto model = *MakeModel(options);
    const size_t num_types = options.schema.num_node_types();
    const GraphDegrees no_degrees;
    sampler::BatchLayer empty;
    for (const EdgeTypeId relation : options.relations[0]) empty.blocks.push_back({relation, {0}, {}, {}});
    empty.num_inputs.assign(num_types, 0);
    empty.num_outputs.assign(num_types, 0);

    const torch::Tensor outputs = Forward(*model, {empty, empty}, TypedRows(num_types),
                                          {.training = true, .degrees = &no_degrees}, options.seed_type);
    outputs.sum().backward();

    EXPECT_EQ(outputs.size(0), 0);
    EXPECT_EQ(outputs.size(1), options.num_outputs);
    for (const auto& [name, parameter] : GetParameters(*model)) {
      EXPECT_TRUE(!parameter.grad().defined() || parameter.grad().abs().sum().item<float>() == 0) << name;
    }
  }
}

TEST(ModelTest, InitialValuesDependOnlyOnSeedAndName) {
  const ModelOptions options = HomogeneousOptions();
  const auto model = *MakeModel(options);
  ModelOptions other_seed = options;
  other_seed.seed = 12;
  std::string digest_with_threads;
  {
    const ThreadCount scope(3);
    digest_with_threads = DigestParameters(**MakeModel(options));
  }
  EXPECT_EQ(DigestParameters(*model), digest_with_threads);
  EXPECT_NE(DigestParameters(*model), DigestParameters(**MakeModel(other_seed)));

  const torch::Tensor weight = GetParameters(*model)[2].second;  // a weight of layer 0
  const double bound = std::sqrt(2.0) * std::sqrt(6.0 / static_cast<double>(weight.size(0) + weight.size(1)));
  EXPECT_LE(weight.abs().max().item<double>(), bound);
  EXPECT_GT(weight.abs().max().item<double>(), bound * 0.8);
  EXPECT_NEAR(weight.mean().item<double>(), 0, bound * 0.3);
}

TEST(ModelTest, StateCopiesBetweenModels) {
  ModelOptions options = HomogeneousOptions();
  options.model.normalization = job::LayerNormalization::kBatch;
  const auto from = *MakeModel(options);
  options.seed = 99;
  const auto to = *MakeModel(options);

  ASSERT_TRUE(LoadState(*to, GetState(*from)).ok());
  EXPECT_EQ(DigestParameters(*to), DigestParameters(*from));

  NamedTensors state = GetState(*from);
  state.back().second = torch::ones({3});
  EXPECT_NE(LoadState(*to, state).message().find("expected F32"), std::string::npos);
  state.pop_back();
  EXPECT_NE(LoadState(*to, state).message().find("is missing"), std::string::npos);
  EXPECT_EQ(DigestParameters(*to), DigestParameters(*from));
}

// A writer that appends to a string.
class StringWriter final : public storage::ObjectWriter {
 public:
  Status Write(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  Status Commit() override { return {}; }
  std::string text;
};

TEST(ModelTest, StateRoundTripsThroughSafetensors) {
  ModelOptions options = TypedOptions(job::ModelType::kRgcn, 2);
  const auto from = *MakeModel(options);
  options.seed = 99;
  const auto to = *MakeModel(options);

  StringWriter file;
  ASSERT_TRUE(format::WriteSafetensors({ToTensors(GetState(*from)), {}}, file).ok());
  const auto owner = std::make_shared<std::vector<double>>(file.text.size() / sizeof(double) + 1);  // aligned
  std::memcpy(owner->data(), file.text.data(), file.text.size());
  const auto read = format::ReadSafetensors(std::as_bytes(std::span(*owner)).first(file.text.size()), owner);
  ASSERT_TRUE(read.ok()) << read.status().ToString();

  ASSERT_TRUE(LoadState(*to, *ToNamedTensors(read->tensors)).ok());
  EXPECT_EQ(DigestParameters(*to), DigestParameters(*from));
  EXPECT_EQ(ToNamedTensors({{"x", espalier::Tensor::Zeros(DType::kU32, {1})}}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(MakeModelTest, RefusesOptionsThatDoNotFit) {
  const auto message_of = [](const std::function<void(ModelOptions&)>& change) {
    ModelOptions options = HomogeneousOptions();
    change(options);
    const auto model = MakeModel(options);
    EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
    return model.status().message();
  };
  EXPECT_NE(message_of([](auto& o) { o.num_outputs = 0; }).find("output"), std::string::npos);
  EXPECT_NE(message_of([](auto& o) { o.model.dropout = 1; }).find("dropout"), std::string::npos);
  EXPECT_NE(message_of([](auto& o) { o.model.heads = 2; }).find("multiple of heads"), std::string::npos);
  EXPECT_NE(message_of([](auto& o) { o.relations.pop_back(); }).find("layers"), std::string::npos);
  EXPECT_NE(message_of([](auto& o) { o.relations[0] = {EdgeTypeId(4)}; }).find("relation"), std::string::npos);
  EXPECT_NE(message_of([](auto& o) { o.input_widths = {1, 2}; }).find("node types"), std::string::npos);
  EXPECT_NE(message_of([](auto& o) { o.seed_type = NodeTypeId(3); }).find("seed"), std::string::npos);
}

TEST(MathSetupTest, SetsAndReportsNumericSettings) {
  const int threads_before = at::get_num_threads();
  const Result<MathSettings> settings = SetUpMath(2);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(at::get_num_threads(), 2);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
  EXPECT_FALSE(settings->torch_version.empty());
  EXPECT_THAT(settings->cpu_capability, testing::AnyOf("AVX2", "AVX512"));
  EXPECT_THAT(settings->blas, testing::MatchesRegex("oneDNN [0-9]\\.[0-9.]+, oneMKL 20.*"));
  // oneMKL OFF if an earlier test has multiplied matrices. scenario.train_cora checks the value in a trainer's process.
  EXPECT_THAT(settings->blas_kernel,
              testing::MatchesRegex("oneDNN (AVX512_CORE|AVX2), oneMKL (AVX512,STRICT|AVX2,STRICT|AUTO|OFF)"));
  ASSERT_TRUE(SetUpMath(threads_before).ok());

  EXPECT_EQ(SetUpMath(0).status().code(), StatusCode::kInvalidArgument);
}

TEST(TensorBridgeTest, SharesBytesBothWays) {
  const torch::Tensor matrix = RandomMatrix(1, 3, 4);
  const torch::Tensor back = ToTorch(FromTorch(matrix));
  EXPECT_EQ(back.data_ptr(), matrix.data_ptr());
  EXPECT_TRUE(torch::equal(back, matrix));
  EXPECT_TRUE(torch::equal(ToTorch(FromTorch(matrix.t())), matrix.t()));
  EXPECT_EQ(FromTorch(torch::tensor({1, 2}, torch::kInt64)).ToString(), "I64 [2]");
}

}  // namespace
}  // namespace espalier::trainer
