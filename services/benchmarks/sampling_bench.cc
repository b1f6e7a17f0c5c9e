// Measures sampling in this process on a graph with the shape of ogbn-products, as a ratio to the ceiling: the rate of
// independent reads of random cache lines. An edge costs 2.1 lines: its element of the index array, the entry of its
// source node in the table that numbers the nodes of the mini-batch, and a share of the two indptr values of its
// destination.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <thread>

#include "services/base/hash.h"
#include "services/benchmarks/bench_graph.h"
#include "services/benchmarks/goal.h"
#include "services/benchmarks/random_lines.h"
#include "services/benchmarks/stopwatch.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/fanout_sampler.h"

namespace espalier::benchmarks {
namespace {

constexpr double kLinesPerEdge = 2.1;
constexpr uint16_t kNumTimes = 1000;

struct Options {
  BenchGraphOptions graph;
  std::vector<int32_t> fanouts = {15, 10, 5};
  uint64_t batch_size = 1024;
  uint32_t batches = 60;
  bool weighted = false;
  bool labor = false;
  bool temporal = false;
  ClockKind clock = ClockKind::kWall;
};

struct Rate {
  double edges_per_second = 0;
  double edges_per_batch = 0;
  double nodes_per_batch = 0;
  double share_in_hops = 0;  // share of the time in the graph's SampleInEdges; the rest is mostly numbering nodes
};

// Forwards requests to the graph and measures their time.
class TimedSource final : public sampler::NeighborSource {
 public:
  TimedSource(sampler::NeighborSource& source, ClockKind clock) : source_(source), clock_(clock) {}
  const graph::PartitionBook& book() const override { return source_.book(); }
  Result<sampler::HopSample> SampleInEdges(const sampler::HopQuery& query, Deadline deadline) override {
    const Stopwatch watch(clock_);
    Result<sampler::HopSample> sample = source_.SampleInEdges(query, deadline);
    seconds += watch.Seconds();
    return sample;
  }
  Result<Tensor> InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) override {
    return source_.InDegrees(type, nodes, deadline);
  }
  double seconds = 0;

 private:
  sampler::NeighborSource& source_;
  const ClockKind clock_;
};

// Returns `spec` with a seed and the fan-outs.
sampler::SamplingSpec MakeSpec(const Options& options, sampler::SamplingSpec spec) {
  spec.seed = 7;
  for (const int32_t fanout : options.fanouts) spec.layers.push_back({{fanout}});
  return spec;
}

// Returns a time for each seed of temporal sampling, in the later half of all times; empty without a time column.
std::vector<int64_t> MakeTimes(const std::vector<GlobalNodeId>& seeds, const sampler::SamplingSpec& spec) {
  std::vector<int64_t> times;
  if (spec.draw.time_column.empty()) return times;
  for (const GlobalNodeId seed : seeds) {
    times.push_back(kNumTimes / 2 + static_cast<int64_t>(HashCombine(1, seed.value) % (kNumTimes / 2)));
  }
  return times;
}

struct Totals {
  std::atomic<uint64_t> edges{0}, nodes{0};
  std::atomic<double> seconds{0}, hop_seconds{0};  // sums over all threads
};

// Returns the number of full batches of an epoch, or 1 if the only batch is not full, as in a small graph.
uint32_t FullStepsOfEpoch(sampler::PartitionedGraph& graph, uint64_t batch_size) {
  const Result<uint64_t> seeds = graph.Count(NodeTypeId(0), graph::kRandomSplit, graph::SplitPartName::kTrain);
  ESPALIER_CHECK(seeds.ok()) << seeds.status().ToString();
  return std::max<uint32_t>(1, static_cast<uint32_t>(*seeds / batch_size));
}

// Takes numbers from `next`, which all threads share, until it reaches num_steps. For each number n, samples the
// mini-batch of step first_step + n, counted over all epochs.
void SampleSteps(sampler::PartitionedGraph& graph, const Options& options, const sampler::SamplingSpec& spec,
                 uint32_t first_step, uint32_t num_steps, std::atomic<uint32_t>& next, Totals& totals) {
  const Stopwatch watch(options.clock);
  TimedSource source(graph, options.clock);
  Result<sampler::FanoutSampler> sampler = sampler::FanoutSampler::Make(source, MakeSpec(options, spec));
  ESPALIER_CHECK(sampler.ok()) << sampler.status().ToString();
  const Deadline deadline = Deadline::After(std::chrono::hours(1));
  const uint32_t full_steps = FullStepsOfEpoch(graph, options.batch_size);
  for (uint32_t number; (number = next++) < num_steps;) {
    const uint32_t epoch = (first_step + number) / full_steps;
    const uint32_t step = (first_step + number) % full_steps;
    const Result<sampler::GlobalBatch> seeds = graph.SeedsOfStep(
        {.split = graph::kRandomSplit, .seed = 7, .epoch = epoch, .step = step, .batch_size = options.batch_size},
        deadline);
    ESPALIER_CHECK(seeds.ok()) << seeds.status().ToString();
    const std::vector<int64_t> times = MakeTimes(seeds->seeds, spec);
    const Result<sampler::MiniBatch> batch =
        sampler->Sample({.epoch = epoch, .step = step, .seeds = seeds->seeds, .seed_times = times}, deadline);
    ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
    for (const sampler::BatchLayer& layer : batch->layers) totals.edges += layer.blocks[0].indices.size();
    totals.nodes += batch->nodes[0].size();
  }
  totals.seconds += watch.Seconds();
  totals.hop_seconds += source.seconds;
}

Rate Measure(sampler::PartitionedGraph& graph, const Options& options, const sampler::SamplingSpec& spec, int threads) {
  constexpr uint32_t kWarmUp = 8;
  Rate rate;
  for (const bool is_measured : {false, true}) {
    const uint32_t num_steps = is_measured ? options.batches : kWarmUp;
    Totals totals;
    std::atomic<uint32_t> next{0};
    {
      std::vector<std::jthread> workers;
      for (int t = 0; t < threads; ++t) {
        workers.emplace_back(
            [&] { SampleSteps(graph, options, spec, is_measured ? kWarmUp : 0, num_steps, next, totals); });
      }
    }
    const double seconds = totals.seconds / threads;
    rate = {.edges_per_second = static_cast<double>(totals.edges) / seconds,
            .edges_per_batch = static_cast<double>(totals.edges) / num_steps,
            .nodes_per_batch = static_cast<double>(totals.nodes) / num_steps,
            .share_in_hops = totals.hop_seconds / totals.seconds};
  }
  return rate;
}

double PercentOfCeiling(const Rate& rate, double lines_per_second) {
  return 100 * rate.edges_per_second * kLinesPerEdge / lines_per_second;
}

void Print(const char* name, const Rate& rate, double lines_per_second) {
  std::printf(
      "%-22s %6.1f M edges/s  %5.1f %% of the random-line ceiling (%.0f M lines/s)  [%.0fk edges, %.0fk nodes a batch; "
      "%.0f %% of the time in hops]\n",
      name, rate.edges_per_second / 1e6, PercentOfCeiling(rate, lines_per_second), lines_per_second / 1e6,
      rate.edges_per_batch / 1e3, rate.nodes_per_batch / 1e3, 100 * rate.share_in_hops);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Sampling in one process, as a ratio to the ceiling measured in the same run");
  app.add_option("--scale", options.graph.scale, "size of the graph; 1 is 2.4 M nodes, 123 M edges")
      ->capture_default_str();
  app.add_option("--partitions", options.graph.num_partitions, "partitions in this process")->capture_default_str();
  app.add_option("--fanouts", options.fanouts, "by layer; the last is for the seeds")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--batch-size", options.batch_size)->capture_default_str();
  app.add_option("--batches", options.batches, "batches measured")->capture_default_str();
  const std::map<std::string, ClockKind> clocks = {{"wall", ClockKind::kWall}, {"cpu", ClockKind::kThreadCpu}};
  app.add_option("--clock", options.clock, "wall; or cpu, for a machine that also runs other processes")
      ->transform(CLI::CheckedTransformer(clocks));
  app.add_flag("--weighted", options.weighted, "also measure weighted draws");
  app.add_flag("--labor", options.labor, "also measure LABOR");
  app.add_flag("--temporal", options.temporal, "also measure temporal draws: uniform, and of the last edges");
  CLI11_PARSE(app, argc, argv);
  options.graph.edge_weights = options.weighted;
  options.graph.source_ids = options.labor;
  options.graph.num_times = options.temporal ? kNumTimes : uint16_t{0};

  const BenchGraph bench = MakeBenchGraph(options.graph);
  const Tensor& indices = bench.shards[0]->data().in_edges[0].indices;
  const double ceiling_of_one = RandomCacheLinesPerSecond(indices.values<uint32_t>(), 1, options.clock);
  const double ceiling_of_two = RandomCacheLinesPerSecond(indices.values<uint32_t>(), 2, options.clock);

  const Rate one = Measure(*bench.graph, options, {}, 1);
  Print("uniform, 1 thread", one, ceiling_of_one);
  const double percent = PercentOfCeiling(one, ceiling_of_one);
  std::printf("of the ceiling: %.1f %% %s\n", percent, AtLeast(45, percent, " %").c_str());
  const Rate two = Measure(*bench.graph, options, {}, 2);
  Print("uniform, 2 threads", two, ceiling_of_two);
  const double speedup = two.edges_per_second / one.edges_per_second;
  std::printf("2 threads / 1 thread: %.2f %s\n", speedup, AtLeast(1.85, speedup, "").c_str());
  const auto compare = [&](const char* name, const sampler::SamplingSpec& spec) {
    const Rate rate = Measure(*bench.graph, options, spec, 1);
    Print(name, rate, ceiling_of_one);
    const double slowdown = one.edges_per_second / rate.edges_per_second;
    std::printf("uniform rate / this rate: %.2f in edges/s, %.2f in batches/s\n", slowdown,
                slowdown * rate.edges_per_batch / one.edges_per_batch);
    return slowdown;
  };
  if (options.weighted) {
    const double slowdown = compare("weighted, 1 thread", {.draw = {.weight_column = graph::kEdgeWeightColumn}});
    std::printf("weighted draws are slower by a factor of %.2f %s\n", slowdown, AtMost(2.5, slowdown, "").c_str());
  }
  if (options.labor) compare("LABOR, 1 thread", {.draw = {.method = sampler::DrawMethod::kLabor}});
  if (options.temporal) compare("temporal, 1 thread", {.draw = {.time_column = kTimeColumn}});
  if (options.temporal) {
    compare("temporal, last, 1 thread", {.draw = {.method = sampler::DrawMethod::kLast, .time_column = kTimeColumn}});
  }
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
