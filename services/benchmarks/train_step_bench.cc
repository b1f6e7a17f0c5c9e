// Measures one training step of GraphSAGE, GAT or GATv2 (3 layers, 256 hidden, 100 features, 47 classes, batch 1024,
// fan-outs 15, 10, 5 from the seeds outward: the shape of ogbn-products) and prints the ratio of its floor to its time.
// The floor is the time of the step's matrix products at the rate that one large product reaches in the same run.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <torch/torch.h>
#include <CLI/CLI.hpp>

#include "services/base/clock.h"
#include "services/base/philox.h"
#include "services/benchmarks/goal.h"
#include "services/trainer/model/model.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/ops/losses.h"
#include "services/trainer/ops/math_setup.h"
#include "services/trainer/ops/matrix_product.h"
#include "services/trainer/optim/flat_gradients.h"
#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {
namespace {

constexpr int64_t kFeatures = 100, kHidden = 256, kClasses = 47;
// kRows: rows after 0 to 3 hops; kFanouts: edges per row in each hop. Both are as in mini-batches of the generated
// graph with the shape of ogbn-products.
constexpr uint32_t kRows[] = {1024, 16'200, 158'000, 622'000};
constexpr uint32_t kFanouts[] = {15, 10, 5};

// Returns a layer with random sources. They are numbered by first occurrence, as by samplers: an edge has a new source
// with a fixed probability, and otherwise one that occurred before.
sampler::BatchLayer RandomLayer(uint32_t num_outputs, uint32_t num_inputs, uint32_t fanout) {
  PhiloxStream random(7, num_inputs);
  sampler::BatchLayer layer{{sampler::Block{EdgeTypeId(0), {0}, {}, {}}}, {num_inputs}, {num_outputs}};
  sampler::Block& block = layer.blocks.front();
  const uint64_t num_edges = uint64_t{num_outputs} * fanout;
  for (uint64_t e = 0, seen = num_outputs; e < num_edges; ++e) {
    const bool is_new = seen < num_inputs && random.Next() % num_edges < num_inputs - num_outputs;
    block.indices.push_back(is_new ? static_cast<uint32_t>(seen++) : random.NextBelow(static_cast<uint32_t>(seen)));
    if ((e + 1) % fanout == 0) block.indptr.push_back(static_cast<uint32_t>(e + 1));
  }
  return layer;
}

// Returns the floating-point operations of a step's matrix products (2 per multiply-add). A layer has three products
// with equal numbers of operations: the forward pass, the gradient of its weights, and the gradient of its input, which
// the first layer does not compute.
// GraphSAGE multiplies the output rows by two matrices (self and neighbors). GAT multiplies the input rows of a layer
// by one matrix. GATv2 also multiplies the output rows by a second matrix.
double FlopsOfStep(job::ModelType type) {
  const int64_t widths[] = {kFeatures, kHidden, kHidden, kClasses};
  double flops = 0;
  for (int layer = 0; layer < 3; ++layer) {
    const double outputs = kRows[2 - layer], inputs = kRows[3 - layer];
    const double rows = type == job::ModelType::kGraphSage ? 2 * outputs
                        : type == job::ModelType::kGat     ? inputs
                                                           : inputs + outputs;
    flops += 2.0 * rows * static_cast<double>(widths[layer] * widths[layer + 1]) * (layer == 0 ? 2 : 3);
  }
  return flops;
}

// Returns the CPU time of all threads, which other processes on the machine hardly change.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Cost {
  double seconds = 0;
  double cpu_seconds = 0;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class Body>
Cost MedianCost(int repetitions, const Body& body) {
  std::vector<double> seconds, cpu_seconds;
  body();  // warms up
  for (int i = 0; i < repetitions; ++i) {
    const Timer timer;
    const double cpu_before = CpuSeconds();
    body();
    seconds.push_back(timer.Seconds());
    cpu_seconds.push_back(CpuSeconds() - cpu_before);
  }
  return {Median(seconds), Median(cpu_seconds)};
}

// Returns the cost of `flops` operations at the rate of one large product.
Cost CostOfProducts(double flops, int repetitions) {
  constexpr int64_t kLargeRows = 100'000;
  const torch::Tensor a = torch::ones({kLargeRows, kHidden}), b = torch::ones({kHidden, kHidden});
  const Cost one = MedianCost(repetitions, [&] { MatMul(a, b); });
  const double share = flops / (2.0 * static_cast<double>(kLargeRows * kHidden * kHidden));
  return {one.seconds * share, one.cpu_seconds * share};
}

struct Phases {
  double forward = 0, backward = 0, update = 0;
};

class Step {
 public:
  Step(double dropout, job::ModelType type)
      : model_(MakeBenchModel(dropout, type)),
        gradients_(GetParameters(*model_), 0),
        optimizer_({}, GetParameters(*model_)) {
    for (int layer = 0; layer < 3; ++layer) {
      layers_.push_back(RandomLayer(kRows[2 - layer], kRows[3 - layer], kFanouts[2 - layer]));
    }
    features_ = torch::ones({kRows[3], kFeatures});
    original_ids_ = {torch::arange(int64_t{kRows[3]}) * 7};
    labels_ = torch::arange(int64_t{kRows[0]}).remainder(kClasses);
  }

  Phases Run() {
    Timer timer;
    Phases phases;
    gradients_.Clear();
    TypedRows rows = {features_};
    const LayerRun run{.training = true, .seed = 1, .step = step_++, .original_ids = &original_ids_};
    for (int layer = 0; layer < 3; ++layer) rows = model_->Layer(layer, layers_[static_cast<size_t>(layer)], rows, run);
    const torch::Tensor loss = Loss(LossKind::kCrossEntropy, rows[0], labels_, kRows[0]);
    phases.forward = timer.Seconds();
    loss.backward();
    phases.backward = timer.Seconds() - phases.forward;
    optimizer_.Step(0.001);
    phases.update = timer.Seconds() - phases.forward - phases.backward;
    return phases;
  }

 private:
  static std::shared_ptr<Model> MakeBenchModel(double dropout, job::ModelType type) {
    ModelOptions options;
    options.model = {.type = type, .hidden_size = kHidden, .dropout = dropout};
    if (type != job::ModelType::kGraphSage) {
      options.model.heads = 8;
      options.model.attention_dropout = dropout;
    }
    options.num_layers = 3;
    options.schema = *graph::GraphSchema::Make({"node"}, {{"node", "to", "node"}});
    options.input_widths = {kFeatures};
    options.num_outputs = kClasses;
    options.relations.assign(3, {EdgeTypeId(0)});
    return *MakeModel(options);
  }

  std::shared_ptr<Model> model_;
  FlatGradients gradients_;
  Optimizer optimizer_;
  std::vector<sampler::BatchLayer> layers_;
  torch::Tensor features_, labels_;
  std::vector<torch::Tensor> original_ids_;
  uint32_t step_ = 0;
};

int Main(int argc, char** argv) {
  CLI::App app("Time of a training step's matrix products, as a ratio to the time of the step");
  int threads = 1, repetitions = 7;
  double dropout = 0.5;
  app.add_option("--threads", threads, "math threads")->capture_default_str();
  app.add_option("--repetitions", repetitions, "timed steps")->capture_default_str();
  app.add_option("--dropout", dropout, "dropout probability, also of attention weights")->capture_default_str();
  job::ModelType type = job::ModelType::kGraphSage;
  const std::map<std::string, job::ModelType> types = {
      {"GraphSAGE", job::ModelType::kGraphSage}, {"GAT", job::ModelType::kGat}, {"GATv2", job::ModelType::kGatv2}};
  app.add_option("--model", type, "GraphSAGE, GAT or GATv2 (8 heads)")->transform(CLI::Transformer(types));
  CLI11_PARSE(app, argc, argv);

  const Result<MathSettings> math = SetUpMath(threads);
  if (!math.ok()) {
    std::fprintf(stderr, "%s\n", math.status().ToString().c_str());
    return 64;
  }
  std::printf("torch %s, %s, %s kernel %s, %d threads\n", math->torch_version.c_str(), math->cpu_capability.c_str(),
              math->blas.c_str(), math->blas_kernel.c_str(), threads);
  Step step(dropout, type);
  Phases phases;
  const Cost step_cost = MedianCost(repetitions, [&] { phases = step.Run(); });
  const Cost floor = CostOfProducts(FlopsOfStep(type), repetitions);
  std::printf("step   %7.1f ms (last one: forward %.1f, backward %.1f, update %.1f), %7.1f ms of processor time\n",
              step_cost.seconds * 1e3, phases.forward * 1e3, phases.backward * 1e3, phases.update * 1e3,
              step_cost.cpu_seconds * 1e3);
  std::printf("floor  %7.1f ms: %.1f GFLOP at %.1f GFLOP/s (100000 x 256 x 256), %7.1f ms of processor time\n",
              floor.seconds * 1e3, FlopsOfStep(type) / 1e9, FlopsOfStep(type) / floor.seconds / 1e9,
              floor.cpu_seconds * 1e3);
  const double ratio = floor.seconds / step_cost.seconds;
  std::printf("floor / step %.2f, by processor time %.2f %s\n", ratio, floor.cpu_seconds / step_cost.cpu_seconds,
              benchmarks::AtLeast(0.6, ratio, "").c_str());
  return 0;
}

}  // namespace
}  // namespace espalier::trainer

int main(int argc, char** argv) { return espalier::trainer::Main(argc, argv); }
