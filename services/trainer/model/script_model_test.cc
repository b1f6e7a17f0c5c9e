// Users' TorchScript modules as models: results and gradients of valid modules, and the messages for invalid ones.
#include "services/trainer/model/script_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "services/trainer/model/parameters.h"
#include "services/trainer/testing/modules.h"

namespace espalier::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;
ModelOptions Options(const torch::jit::Module& module) {
  ModelOptions options;
  options.model.type = job::ModelType::kTorchScript;
  options.schema = *graph::GraphSchema::Make({"node"}, {{"node", "edge", "node"}});
  options.input_widths = {6};
  options.relations = {{EdgeTypeId(0)}, {EdgeTypeId(0)}};
  options.seed_type = NodeTypeId(0);
  options.seed = 3;
  options.module = ToModuleFile(module);
  return options;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string WithLines(const std::string& before_return) {
  return Replaced(kMeanForward, "    return {", before_return + "    return {");
}

torch::Tensor StateNamed(const Model& model, const std::string& name) {
  for (const auto& [of_tensor, tensor] : GetState(model)) {
    if (of_tensor == name) return tensor;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

std::string GetModelError(const std::string& forward) {
  const auto model = MakeModel(Options(MeanModule(6, 5, 3, forward)));
  EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
  return model.status().message();
}

// Compares the module with the built-in GraphSAGE, whose W_self and W_neigh, concatenated, are the module's matrix.
TEST(ScriptModelTest, MatchesBuiltInModel) {
  ModelOptions sage;
  sage.model = {.type = job::ModelType::kGraphSage, .hidden_size = 5, .dropout = 0};
  sage.schema = Options(MeanModule(6, 5, 3)).schema;
  sage.input_widths = {6};
  sage.num_outputs = 3;
  sage.relations = {{EdgeTypeId(0)}, {EdgeTypeId(0)}};
  sage.seed_type = NodeTypeId(0);
  const auto ours = *MakeModel(sage);
  const auto theirs = MakeModel(Options(MeanModule(6, 5, 3)));
  ASSERT_TRUE(theirs.ok()) << theirs.status().ToString();
  std::map<std::string, torch::Tensor> weights, module_weights;
  for (const auto& [name, tensor] : GetParameters(**theirs)) module_weights[name] = tensor;
  ASSERT_EQ(module_weights.size(), 2u);
  {
    const torch::NoGradGuard no_gradient;
    for (auto& [name, tensor] : GetParameters(*ours)) {
      torch::Tensor target = tensor;
      weights[name] = tensor;
      const std::string layer = name.substr(5, 1);
      if (name.find("bias") != std::string::npos) continue;
      const torch::Tensor both = module_weights.at("weight" + layer).t();
      const int64_t width = both.size(1) / 2;
      target.copy_(name.find("fc_self") != std::string::npos ? both.slice(1, 0, width) : both.slice(1, width));
    }
  }
  const sampler::Block first = RandomBlock(1, 5, 8, 3), second = RandomBlock(2, 2, 5, 2);
  const std::vector<sampler::BatchLayer> layers = {{{first}, {8}, {5}}, {{second}, {5}, {2}}};
  const auto run = [&](Model& model) {
    TypedRows rows = {RandomMatrix(4, 8, 6)};
    const std::vector<torch::Tensor> ids = {torch::arange(8)};
    for (int layer = 0; layer < 2; ++layer) {
      rows = model.Layer(layer, layers[static_cast<size_t>(layer)], rows, {.training = true, .original_ids = &ids});
    }
    WeightedSum(rows[0]).backward();
    return rows[0].detach();
  };

  EXPECT_EQ((*theirs)->OutputWidth(0), 5);
  EXPECT_EQ((*theirs)->OutputWidth(1), 3);
  EXPECT_TRUE(torch::allclose(run(**theirs), run(*ours), 1e-5, 1e-6));
  const torch::Tensor of_both =
      torch::cat({weights.at("layer0.fc_self.weight").grad(), weights.at("layer0.fc_neigh.weight").grad()}, 1);
  EXPECT_TRUE(torch::allclose(module_weights.at("weight0").grad(), of_both.t(), 1e-4, 1e-5));
}

// In TorchScript, dtype 6 is torch.float32.
TEST(ScriptModelTest, MultipliesInBf16AndPassesRowsInF32) {
  ModelOptions options = Options(MeanModule(6, 5, 3, WithLines("    assert h.dtype == 6\n")));
  const sampler::BatchLayer edges{{RandomBlock(1, 5, 8, 3)}, {8}, {5}};
  const auto compute = [&] {
    const auto model = MakeModel(options);
    EXPECT_TRUE(model.ok()) << model.status().ToString();
    const std::vector<torch::Tensor> ids = {torch::arange(8)};
    const TypedRows rows = (*model)->Layer(0, edges, {RandomMatrix(4, 8, 6)}, {.training = true, .original_ids = &ids});
    WeightedSum(rows[0]).backward();
    EXPECT_EQ(GetParameters(**model)[0].second.grad().scalar_type(), torch::kFloat32);
    return rows[0].detach();
  };
  const torch::Tensor exact = compute();
  options.precision = job::Precision::kBf16;
  const torch::Tensor rounded = compute();
  EXPECT_EQ(rounded.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(rounded, rounded.to(torch::kBFloat16).to(torch::kFloat32))) << "a rounded product";
  EXPECT_FALSE(torch::equal(rounded, exact));
  EXPECT_TRUE(torch::allclose(rounded, exact, /*rtol=*/2e-2, /*atol=*/2e-2));
}

// Torch's index_add requires operands of one dtype; autocast does not convert them.
TEST(ScriptModelTest, NamesAnOperationThatMixesPrecisions) {
  const std::string sum = "    y = torch.zeros([y.size(0), y.size(1)]).index_add(0, torch.arange(y.size(0)), y)\n";
  ModelOptions options = Options(MeanModule(6, 5, 3, WithLines(sum)));
  EXPECT_TRUE(MakeModel(options).ok());
  options.precision = job::Precision::kBf16;
  const Status status = MakeModel(options).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("layer 0, fails: "), HasSubstr("index_add")));
}

TEST(ScriptModelTest, NamesTheSignatureItExpects) {
  EXPECT_THAT(GetModelError("def forward(self, x: Tensor) -> Tensor:\n    return x\n"),
              AllOf(HasSubstr("mem://test/model.pt"), HasSubstr("expected forward(self, layer: int"),
                    HasSubstr("found forward("), HasSubstr("Tensor x")));
  EXPECT_THAT(GetModelError("def other(self, x: Tensor) -> Tensor:\n    return x\n"), HasSubstr("found no forward"));
}

TEST(ScriptModelTest, NamesLayerAndItsOutput) {
  EXPECT_THAT(GetModelError(Replaced(kMeanForward, "return {\"node\": y}", "return {\"paper\": y}")),
              HasSubstr("layer 0, writes no rows of node type 'node'"));
  EXPECT_THAT(GetModelError(Replaced(kMeanForward, "return {\"node\": y}", "return {\"node\": y.double()}")),
              HasSubstr("layer 0, writes double [8, 5] for node type 'node', expected float [8, W]"));
  EXPECT_THAT(GetModelError(Replaced(kMeanForward, "return {\"node\": y}", "return {\"node\": y[:3]}")),
              HasSubstr("writes float [3, 5]"));
  EXPECT_THAT(GetModelError(Replaced(kMeanForward, "x[\"node\"]", "x[\"paper\"]")), HasSubstr("layer 0, fails: "));
}

TEST(ScriptModelTest, RefusesModulesThatCannotBeTrainedOrSaved) {
  torch::jit::Module doubles = MeanModule(6, 5, 3);
  doubles.register_parameter("precise", torch::zeros({2}, torch::kFloat64).set_requires_grad(true), false);
  EXPECT_THAT(MakeModel(Options(doubles)).status().message(), HasSubstr("parameter 'precise' is not f32"));
  torch::jit::Module tied = MeanModule(6, 5, 3);
  tied.register_parameter("again", tied.attr("weight0").toTensor(), false);
  EXPECT_THAT(MakeModel(Options(tied)).status().message(), HasSubstr("shares its memory"));
  ModelOptions broken = Options(MeanModule(6, 5, 3));
  broken.module = std::make_shared<const ModuleFile>(ModuleFile{"mem://x", "not an archive", ""});
  EXPECT_THAT(MakeModel(broken).status().message(), HasSubstr("is not a TorchScript archive"));
  EXPECT_EQ(MakeModel(broken).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(GetModelError(WithLines("    y = y.detach()\n")), HasSubstr("nothing can be learned"));
  torch::jit::Module frozen = MeanModule(6, 5, 3);
  for (const char* name : {"weight0", "weight1"}) frozen.attr(name).toTensor().set_requires_grad(false);
  EXPECT_THAT(MakeModel(Options(frozen)).status().message(), HasSubstr("has no parameter with requires_grad"));
  torch::jit::Module overlapping = MeanModule(6, 5, 3);
  const torch::Tensor rows = overlapping.attr("weight0").toTensor().detach().slice(0, 1);
  overlapping.register_parameter("part", rows.set_requires_grad(true), false);
  EXPECT_THAT(MakeModel(Options(overlapping)).status().message(), HasSubstr("shares its memory"));
}

TEST(ScriptModelTest, NamesTheRemedyForFilesOfTorchSave) {
  const auto message = [](const std::string& bytes) {
    ModelOptions options = Options(MeanModule(6, 5, 3));
    options.module = std::make_shared<const ModuleFile>(ModuleFile{"mem://x", bytes, ""});
    return MakeModel(options).status().message();
  };
  // A tensor in the format of torch.save, written by libtorch.
  const std::vector<char> pickled = torch::pickle_save(c10::IValue(torch::zeros({2})));
  const std::string torch_save(pickled.begin(), pickled.end());
  EXPECT_THAT(message(torch_save),
              AllOf(HasSubstr("is a file of torch.save"), HasSubstr("torch.jit.script(module).save"),
                    HasSubstr("expected a TorchScript archive")));
  EXPECT_THAT(message(std::string("\x80\x02\x8a\x0a", 4)),
              HasSubstr("is a pickle (as torch.save wrote before PyTorch 1.6)"));
  EXPECT_THAT(message(std::string("\2\0\0\0\0\0\0\0{}", 10)),
              HasSubstr("is a safetensors file: expected a TorchScript archive; a safetensors file has parameters"));
}

TEST(ScriptModelTest, InferenceNeedsNoParameters) {
  torch::jit::Module frozen = MeanModule(6, 5, 3, WithLines("    y = y.detach()\n"));
  for (const char* name : {"weight0", "weight1"}) frozen.attr(name).toTensor().set_requires_grad(false);
  ModelOptions options = Options(frozen);
  options.trains = false;
  const auto model = MakeModel(options);
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  options.module = ToModuleFile(
      MeanModule(6, 5, 3, Replaced(kMeanForward, "return {\"node\": y}", "return {\"node\": y.detach().to_sparse()}")));
  EXPECT_THAT(MakeModel(options).status().message(), AllOf(HasSubstr("Sparse"), HasSubstr("expected float [8, W]")));
}

// Relations: author:writes:paper is 0, institution:employs:author is 1. The last layer reads no institutions and writes
// only papers.
constexpr const char* kTypedForward = R"(
def forward(self, layer: int, x: Dict[str, Tensor], blocks: Dict[str, Tuple[Tensor, Tensor]],
            num_rows: Dict[str, int]) -> Dict[str, Tensor]:
    assert x["institution"].size(1) == (6 if layer == 0 else 5), "a width that layer 0 does not write"
    if layer == 1 or num_rows["paper"] == 0:
        assert x["institution"].size(0) == 0 or num_rows["author"] > 0, "unread rows"
        assert x["paper"].size(0) == num_rows["paper"], "unread rows"
    result: Dict[str, Tensor] = {}
    for name, rows in num_rows.items():
        if rows > 0:
            sum = x[name][:rows]
            for key, block in blocks.items():
                if key.endswith(":" + name):
                    indptr, indices = block
                    degree = indptr[1:] - indptr[:-1]
                    row = torch.repeat_interleave(torch.arange(degree.size(0)), degree)
                    sum = sum.index_add(0, row, x[key.split(":")[0]].index_select(0, indices))
            result[name] = torch.mm(sum, self.weight0 if layer == 0 else self.weight1)
    return result
)";

TEST(ScriptModelTest, UnwrittenTypesAreEmptyInNextLayer) {
  torch::jit::Module module("Typed");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("weight0", RandomMatrix(1, 6, 5).set_requires_grad(true), /*is_buffer=*/false);
  module.register_parameter("weight1", RandomMatrix(2, 5, 3).set_requires_grad(true), /*is_buffer=*/false);
  module.define(kTypedForward);
  ModelOptions options = Options(module);
  options.schema = *graph::GraphSchema::Make({"author", "institution", "paper"},
                                             {{"author", "writes", "paper"}, {"institution", "employs", "author"}});
  options.input_widths = {6, 6, 6};
  options.relations = {{EdgeTypeId(0), EdgeTypeId(1)}, {EdgeTypeId(0), EdgeTypeId(1)}};
  options.seed_type = NodeTypeId(2);
  const auto model = MakeModel(options);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ((*model)->OutputWidth(0), 5);
  EXPECT_EQ((*model)->OutputWidth(1), 3);
}

TEST(ScriptModelTest, ProbeHasRowsWithoutInEdges) {
  EXPECT_THAT(GetModelError(WithLines("    assert int(degree.min()) > 0, \"a node without in-edges\"\n")),
              AllOf(HasSubstr("layer 0, fails: "), HasSubstr("a node without in-edges")));
}

TEST(ScriptModelTest, ErrorHasReasonBeforeTrace) {
  const std::string text =
      GetModelError(WithLines("    assert int(degree.min()) > 9, str(degree.size(0)) + \" rows\"\n"));
  const size_t cause = text.find("8 rows"), trace = text.find("Traceback of TorchScript");
  ASSERT_TRUE(cause != std::string::npos && trace != std::string::npos) << text;
  EXPECT_LT(cause, trace) << text;
}

TEST(ScriptModelTest, ABufferThatForwardReplacesIsKept) {
  const ModelOptions options =
      Options(MeanModule(6, 5, 3, WithLines("    if self.training:\n        self.calls = self.calls + 1\n")));
  const auto model = MakeModel(options);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(StateNamed(**model, "calls").item<float>(), 0) << "as it was before the probe";
  const NamedTensors initial = {{"calls", torch::zeros({1})},
                                {"weight0", StateNamed(**model, "weight0").detach().clone()},
                                {"weight1", StateNamed(**model, "weight1").detach().clone()}};
  const sampler::BatchLayer edges{{RandomBlock(1, 5, 8, 3)}, {8}, {5}};
  const auto train = [&] { (*model)->Layer(0, edges, {RandomMatrix(4, 8, 6)}, {.training = true}); };
  train();
  train();
  EXPECT_EQ(StateNamed(**model, "calls").item<float>(), 2);
  ModelOptions again = options;
  again.module = std::make_shared<const ModuleFile>(ModuleFile{"again", **SerializeScriptModel(**model), ""});
  EXPECT_EQ(StateNamed(**MakeModel(again), "calls").item<float>(), 2);
  ASSERT_TRUE(LoadState(**model, initial).ok());
  train();
  EXPECT_EQ(StateNamed(**model, "calls").item<float>(), 1) << "what a checkpoint brings back is what forward reads";
  EXPECT_THAT(GetModelError(WithLines("    self.calls = torch.zeros([2])\n")),
              HasSubstr("layer 0, gives buffer 'calls' another dtype or shape"));
}

// Returns the source of forward() in services/examples/own_model.py, without the indentation of its class.
std::string ForwardOfTheExample() {
  std::ifstream file(std::string(ESPALIER_SOURCE_DIR) + "/services/examples/own_model.py");
  std::string text, line;
  bool is_forward = false;
  while (std::getline(file, line)) {
    if (line.starts_with("    def ")) is_forward = line.starts_with("    def forward(");
    if (line.starts_with("if ")) is_forward = false;
    if (is_forward) text += (line.size() > 4 ? line.substr(4) : "") + "\n";
  }
  return text;
}

TEST(ScriptModelTest, ExampleIsValidModule) {
  const auto example = MakeModel(Options(MeanModule(6, 5, 3, ForwardOfTheExample())));
  ASSERT_TRUE(example.ok()) << example.status().ToString();
  EXPECT_EQ((*example)->OutputWidth(0), 5);
  const sampler::BatchLayer edges{{RandomBlock(1, 5, 8, 3)}, {8}, {5}};
  const torch::Tensor features = RandomMatrix(4, 8, 6);
  const auto mean = *MakeModel(Options(MeanModule(6, 5, 3)));
  EXPECT_TRUE(torch::equal((*example)->Layer(0, edges, {features}, {})[0], mean->Layer(0, edges, {features}, {})[0]));
}

TEST(ScriptModelTest, RandomNumbersDependOnStep) {
  const auto model =
      *MakeModel(Options(MeanModule(6, 5, 3, WithLines("    y = torch.dropout(y, 0.5, self.training)\n"))));
  const sampler::BatchLayer edges{{RandomBlock(1, 5, 8, 3)}, {8}, {5}};
  const torch::Tensor features = RandomMatrix(4, 8, 6);
  const auto output_of = [&](uint32_t step, bool training) {
    return model->Layer(0, edges, {features}, {.training = training, .seed = 1, .step = step})[0];
  };
  EXPECT_TRUE(torch::equal(output_of(0, true), output_of(0, true)));
  EXPECT_FALSE(torch::equal(output_of(0, true), output_of(1, true)));
  EXPECT_TRUE(torch::equal(output_of(0, false), output_of(1, false)));
}

TEST(ScriptModelTest, AShareWithoutSeedsDoesNotCallTheModule) {
  const auto model = *MakeModel(Options(MeanModule(6, 5, 3)));
  const sampler::BatchLayer empty{{{EdgeTypeId(0), {0}, {}, {}}}, {0}, {0}};
  const torch::Tensor outputs = model->Layer(1, empty, {torch::empty({0, 5})}, {.training = true})[0];
  EXPECT_EQ(outputs.sizes(), (std::vector<int64_t>{0, 3}));
  outputs.sum().backward();
}

TEST(ScriptModelTest, TheArchiveHasTheCurrentParameters) {
  const auto model = *MakeModel(Options(MeanModule(6, 5, 3)));
  {
    const torch::NoGradGuard no_gradient;
    GetParameters(*model)[0].second.mul_(3);
  }
  const auto archive = SerializeScriptModel(*model);
  ASSERT_TRUE(archive.ok() && archive->has_value());
  ModelOptions options = Options(MeanModule(6, 5, 3));
  options.module = std::make_shared<const ModuleFile>(ModuleFile{"again", **archive, ""});
  EXPECT_EQ(DigestParameters(**MakeModel(options)), DigestParameters(*model));
}

}  // namespace
}  // namespace espalier::trainer
