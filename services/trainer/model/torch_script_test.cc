// Exported modules compute the same outputs as the models.
#include "services/trainer/model/torch_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <map>
#include <sstream>
#include <tuple>

#include "services/trainer/model/parameters.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

ModelOptions Options(job::Aggregator aggregator, job::LayerNormalization normalization) {
  ModelOptions options;
  options.model = {.type = job::ModelType::kGraphSage,
                   .aggregator = aggregator,
                   .hidden_size = 9,
                   .dropout = 0.5,
                   .normalization = normalization};
  options.schema = *graph::GraphSchema::Make({"paper"}, {{"paper", "cites", "paper"}});
  options.input_widths = {6};
  options.num_outputs = 4;
  options.relations = {{EdgeTypeId(0)}, {EdgeTypeId(0)}};
  options.seed = 11;
  return options;
}

// Returns a model in which all values differ from the initial ones, including biases and running statistics.
std::shared_ptr<Model> TrainedModel(const ModelOptions& options) {
  std::shared_ptr<Model> model = *MakeModel(options);
  const torch::NoGradGuard no_gradients;
  uint64_t seed = 5;
  for (const auto& [name, tensor] : GetState(*model)) {
    torch::Tensor target = tensor;
    const torch::Tensor values = RandomMatrix(++seed, 1, tensor.numel()).view(tensor.sizes());
    target.copy_(name.ends_with("running_var") ? values.abs() + 0.5 : values);
  }
  return model;
}

// Returns two layers over 8, 5 and 2 rows, of which some have no in-edges.
std::vector<sampler::BatchLayer> TwoLayers() {
  return {{{RandomBlock(1, 5, 8, 3)}, {8}, {5}}, {{RandomBlock(2, 2, 5, 2)}, {5}, {2}}};
}

torch::Tensor AsTensor(const std::vector<uint32_t>& numbers) {
  const std::vector<int64_t> wide(numbers.begin(), numbers.end());
  return torch::tensor(wide, torch::kInt64);
}

torch::Tensor RunScript(const std::string& archive, const torch::Tensor& x,
                        const std::vector<sampler::BatchLayer>& layers) {
  std::istringstream stream(archive);
  torch::jit::Module module = torch::jit::load(stream);
  std::vector<std::tuple<torch::Tensor, torch::Tensor>> blocks;
  for (const sampler::BatchLayer& layer : layers) {
    blocks.emplace_back(AsTensor(layer.blocks[0].indptr), AsTensor(layer.blocks[0].indices));
  }
  return module.forward({x, blocks}).toTensor();
}

TEST(TorchScriptTest, MatchesModel) {
  const torch::NoGradGuard no_gradients;
  const torch::Tensor x = RandomMatrix(3, 8, 6);
  const std::vector<sampler::BatchLayer> layers = TwoLayers();
  for (const auto aggregator : {job::Aggregator::kMean, job::Aggregator::kGcn, job::Aggregator::kPool}) {
    for (const auto normalization :
         {job::LayerNormalization::kNone, job::LayerNormalization::kLayer, job::LayerNormalization::kBatch}) {
      const ModelOptions options = Options(aggregator, normalization);
      const std::shared_ptr<Model> model = TrainedModel(options);
      TypedRows rows = {x};
      for (int layer = 0; layer < 2; ++layer) {
        rows = model->Layer(layer, layers[static_cast<size_t>(layer)], rows, LayerRun());
      }
      const Result<std::string> archive = MakeTorchScript(*model, options);
      ASSERT_TRUE(archive.ok()) << archive.status().ToString();
      const torch::Tensor outputs = RunScript(*archive, x, layers);
      EXPECT_TRUE(torch::allclose(outputs, rows[0], 1e-5, 1e-5)) << outputs << rows[0];
    }
  }
}

TEST(TorchScriptTest, ComputesTheSameAttention) {
  const torch::NoGradGuard no_gradients;
  const torch::Tensor x = RandomMatrix(3, 8, 6);
  const std::vector<sampler::BatchLayer> layers = TwoLayers();
  for (const auto type : {job::ModelType::kGat, job::ModelType::kGatv2}) {
    ModelOptions options = Options(job::Aggregator::kMean, job::LayerNormalization::kLayer);
    options.model.type = type;
    options.model.heads = 3;
    options.model.output_heads = 2;
    const std::shared_ptr<Model> model = TrainedModel(options);
    TypedRows rows = {x};
    for (int layer = 0; layer < 2; ++layer) {
      rows = model->Layer(layer, layers[static_cast<size_t>(layer)], rows, LayerRun());
    }
    const Result<std::string> archive = MakeTorchScript(*model, options);
    ASSERT_TRUE(archive.ok()) << archive.status().ToString();
    const torch::Tensor outputs = RunScript(*archive, x, layers);
    EXPECT_TRUE(torch::allclose(outputs, rows[0], 1e-4, 1e-5)) << outputs << rows[0];
    const sampler::BatchLayer none{{{EdgeTypeId(0), {0}, {}, {}}}, {0}, {0}};
    EXPECT_EQ(RunScript(*archive, torch::empty({0, 6}), {none, none}).sizes(), (std::vector<int64_t>{0, 4}));
  }
}

TEST(TorchScriptTest, KeepsTheNamesOfTheParameters) {
  const ModelOptions options = Options(job::Aggregator::kPool, job::LayerNormalization::kBatch);
  const std::shared_ptr<Model> model = TrainedModel(options);
  std::istringstream stream(*MakeTorchScript(*model, options));
  const torch::jit::Module module = torch::jit::load(stream);
  std::map<std::string, torch::Tensor> loaded;
  for (const auto& item : module.named_parameters()) loaded[item.name] = item.value;
  for (const auto& item : module.named_buffers()) loaded[item.name] = item.value;
  EXPECT_EQ(loaded.size(), GetState(*model).size());
  for (const auto& [name, tensor] : GetState(*model)) {
    ASSERT_TRUE(loaded.contains(name)) << name;
    EXPECT_TRUE(torch::equal(loaded[name], tensor)) << name;
  }
}

TEST(TorchScriptTest, NamesUnsupportedModels) {
  ModelOptions options = Options(job::Aggregator::kMean, job::LayerNormalization::kNone);
  options.model.type = job::ModelType::kRgcn;
  const Status status = MakeTorchScript(**MakeModel(options), options).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("only for GraphSAGE, GAT and GATv2"));
  options = Options(job::Aggregator::kMean, job::LayerNormalization::kNone);
  options.input_widths = {0};
  EXPECT_THAT(MakeTorchScript(**MakeModel(options), options).status().message(), HasSubstr("nodes with features"));
}

}  // namespace
}  // namespace espalier::trainer
