// Measures the rate of a sparse optimizer on random rows, as a ratio to that of a prefetching pass over the same rows.
// The pass reads the gradients, reads and writes the weights and state, and does little arithmetic.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "services/base/philox.h"
#include "services/benchmarks/goal.h"
#include "services/benchmarks/sparse_floor.h"
#include "services/benchmarks/stopwatch.h"

namespace espalier::benchmarks {
namespace {

struct SparseFlags {
  uint64_t rows = 1'000'000;
  size_t width = 128;
  size_t batch = 200'000;
  uint32_t ranks = 1;
  int repetitions = 8;
  sampler::SparseOptimizerType type = sampler::SparseOptimizerType::kAdagrad;
  ClockKind clock = ClockKind::kWall;
};

template <class Work>
double BestSeconds(const SparseFlags& flags, const Work& work) {
  double best = 1e30;
  for (int run = 0; run < flags.repetitions; ++run) {
    const Stopwatch watch(flags.clock);
    work();
    best = std::min(best, watch.Seconds());
  }
  return best;
}

int Main(int argc, char** argv) {
  SparseFlags flags;
  CLI::App app("Rate of a sparse optimizer, as a ratio to that of a prefetching pass over the same rows");
  app.add_option("--rows", flags.rows, "rows of the table")->capture_default_str();
  app.add_option("--width", flags.width, "F32 values of a row")->capture_default_str();
  app.add_option("--batch", flags.batch, "gradients per step, each of a random row")->capture_default_str();
  app.add_option("--ranks", flags.ranks, "number of ranks that send the gradients")->capture_default_str();
  using Type = sampler::SparseOptimizerType;
  const std::map<std::string, Type> types = {{"sgd", Type::kSgd},
                                             {"adagrad", Type::kAdagrad},
                                             {"row-wise-adagrad", Type::kRowWiseAdagrad},
                                             {"adam", Type::kAdam}};
  app.add_option("--optimizer", flags.type, "sgd, adagrad, row-wise-adagrad or adam")
      ->transform(CLI::CheckedTransformer(types));
  const std::map<std::string, ClockKind> clocks = {{"wall", ClockKind::kWall}, {"cpu", ClockKind::kThreadCpu}};
  app.add_option("--clock", flags.clock, "wall; or cpu, for a machine that also runs other processes")
      ->transform(CLI::CheckedTransformer(clocks));
  CLI11_PARSE(app, argc, argv);

  const size_t state_width = sampler::StateWidth(flags.type, flags.width);
  std::vector<float> weights(flags.rows * flags.width, 0.1f), state(flags.rows * state_width, 0.1f);
  const shard::LearnableTable table{.num_rows = flags.rows,
                                    .width = flags.width,
                                    .state_width = state_width,
                                    .weights = {weights.data(), flags.width},
                                    .state = {state.data(), state_width}};
  PhiloxStream random(1, 0);
  std::vector<LocalRowId> ids;
  for (size_t i = 0; i < flags.batch; ++i) ids.emplace_back(random.NextBelow(static_cast<uint32_t>(flags.rows)));
  std::vector<float> values(flags.batch * flags.width);
  for (float& value : values) value = random.NextUnitFloat() - 0.5f;
  std::vector<shard::RowGradients> gradients;
  for (uint32_t rank = 0; rank < flags.ranks; ++rank) {
    const size_t begin = flags.batch * rank / flags.ranks, end = flags.batch * (rank + 1) / flags.ranks;
    gradients.push_back({std::span(ids).subspan(begin, end - begin), values.data() + begin * flags.width});
  }

  const double floor = BestSeconds(flags, [&] { TouchRows(table, gradients); });
  shard::SparseStep step;
  uint64_t number = 0;
  const double measured = BestSeconds(flags, [&] {
    step.Apply(shard::RowUpdate({.type = flags.type}, flags.width, 0.01, ++number), sampler::DuplicateGradients::kSum,
               table, gradients);
  });
  const auto million_rows_per_second = [&](double seconds) { return static_cast<double>(flags.batch) / seconds / 1e6; };
  const double percent = 100 * floor / measured;
  std::printf("%.1f %% of a prefetching pass over the same rows (%.2f M rows/s; the pass: %.2f) %s\n", percent,
              million_rows_per_second(measured), million_rows_per_second(floor), AtLeast(80, percent, " %").c_str());
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
