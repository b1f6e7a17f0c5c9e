// Measures how many rows of another machine a trainer fetches with a cache that knows the next steps, on a graph with
// the shape of ogbn-products in two random partitions, of which the second counts as remote. Both partitions are in
// this process, so rows are counted, not sent, and the times are those of gathering and of the cache's own work. The
// lower bound (floor) of the rows is what the same cache fetches when it knows as many steps as its index has room for.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>

#include "services/benchmarks/bench_graph.h"
#include "services/benchmarks/goal.h"
#include "services/benchmarks/stopwatch.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/sampler/row_cache/scheduled_row_cache.h"

namespace espalier::benchmarks {
namespace {

struct Options {
  BenchGraphOptions graph{.num_partitions = 2, .feature_width = 100};
  std::vector<int32_t> fanouts = {10, 25};
  uint64_t batch_size = 1024;
  uint32_t batches = 120;
  uint32_t steps = 32;
  double share = 0.1;
  ClockKind clock = ClockKind::kWall;
};

// Reads the graph's rows. Those of partition 1 count as remote.
class OneRemotePartition final : public sampler::RowSource {
 public:
  explicit OneRemotePartition(sampler::PartitionedGraph& graph) : graph_(graph) {}
  const std::vector<sampler::ColumnDescription>& columns() const override { return graph_.columns(); }
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline deadline) override {
    return graph_.GatherRows(type, column, nodes, deadline);
  }
  Status GatherRowsToPlaces(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            std::span<const uint32_t> places, std::shared_ptr<std::byte> out,
                            Deadline deadline) override {
    return graph_.GatherRowsToPlaces(type, column, nodes, places, std::move(out), deadline);
  }
  bool is_remote(PartitionId partition) const override { return partition == PartitionId(1); }

 private:
  sampler::PartitionedGraph& graph_;
};

struct Outcome {
  double fetched_rows = 0;  // per step, of the second half of the steps
  double seconds = 0;       // per step, of gathering and of the cache's work
  double max_held_bytes = 0;
};

Deadline InAnHour() { return Deadline::After(std::chrono::hours(1)); }

// Reads the features of trainer 0's mini-batches. The cache knows the mini-batches of the next `steps` steps.
Outcome Run(const BenchGraph& bench, const Options& options, uint64_t memory_bytes, uint32_t steps) {
  sampler::PartitionedGraph& graph = *bench.graph;
  sampler::SamplingSpec spec;
  spec.seed = 7;
  for (const int32_t fanout : options.fanouts) spec.layers.push_back({{fanout}});
  sampler::EpochPlan plan;
  plan.split = graph::kRandomSplit;
  plan.batch_size = options.batch_size;
  plan.num_trainers = 2;
  sampler::LocalMiniBatchSource batches(graph, graph, spec, plan, {.threads = options.graph.threads});
  ESPALIER_CHECK(batches.StartEpoch(0, 0).ok());
  OneRemotePartition rows(graph);
  std::vector<sampler::ColumnDescription> columns;
  for (const sampler::ColumnDescription& column : graph.columns()) {
    if (column.name == graph::kFeatureColumn) columns.push_back(column);
  }
  sampler::ScheduledRowCache cache(rows, graph.book(), columns, memory_bytes);
  std::deque<sampler::MiniBatch> waiting;
  Outcome outcome;
  uint64_t fetched_before = 0;
  uint32_t num_sampled = 0;
  for (uint32_t step = 0; step < options.batches; ++step) {
    while (num_sampled < options.batches && waiting.size() <= steps && cache.HasRoomForStep()) {
      Result<sampler::MiniBatch> batch = batches.Next(InAnHour());
      ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
      const Stopwatch watch(options.clock);
      cache.Schedule(batch->nodes);
      outcome.seconds += watch.Seconds();
      waiting.push_back(*std::move(batch));
      ++num_sampled;
    }
    if (step == options.batches / 2) fetched_before = cache.counts().fetched_rows;
    const Stopwatch watch(options.clock);
    cache.BeginStep(waiting.front().nodes);
    const Result<Tensor> gathered =
        cache.GatherRows(NodeTypeId(0), graph::kFeatureColumn, waiting.front().nodes[0], InAnHour());
    ESPALIER_CHECK(gathered.ok()) << gathered.status().ToString();
    cache.EndStep();
    outcome.seconds += watch.Seconds();
    outcome.max_held_bytes = std::max(outcome.max_held_bytes, static_cast<double>(cache.held_bytes()));
    waiting.pop_front();
  }
  outcome.seconds /= options.batches;
  outcome.fetched_rows =
      static_cast<double>(cache.counts().fetched_rows - fetched_before) / (options.batches - options.batches / 2);
  return outcome;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Rows that a trainer fetches with a cache that knows the next steps");
  app.add_option("--scale", options.graph.scale, "size of the graph; 1 is 2.4 M nodes")->capture_default_str();
  app.add_option("--fanouts", options.fanouts, "by layer; the last is for the seeds")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--batch-size", options.batch_size, "seeds of a step, over two trainers")->capture_default_str();
  app.add_option("--batches", options.batches, "steps, at most an epoch; rows are counted in the second half")
      ->check(CLI::Range(2, 60000))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "number of steps that are sampled ahead of the current one")
      ->capture_default_str();
  app.add_option("--share", options.share, "memory of the cache as a share of the bytes of all rows")
      ->capture_default_str();
  const std::map<std::string, ClockKind> clocks = {{"wall", ClockKind::kWall}, {"cpu", ClockKind::kThreadCpu}};
  app.add_option("--clock", options.clock, "wall; or cpu, for a machine that also runs other processes")
      ->transform(CLI::CheckedTransformer(clocks));
  CLI11_PARSE(app, argc, argv);

  const BenchGraph bench = MakeBenchGraph(options.graph);
  const Result<uint64_t> seeds = bench.graph->Count(NodeTypeId(0), graph::kRandomSplit, graph::SplitPartName::kTrain);
  ESPALIER_CHECK(seeds.ok()) << seeds.status().ToString();
  options.batches = std::min(options.batches, static_cast<uint32_t>(*seeds / options.batch_size));  // at most one epoch
  ESPALIER_CHECK(options.batches >= 2) << "the graph has " << *seeds << " seeds: choose a smaller --batch-size";
  const double row_bytes = static_cast<double>(options.graph.feature_width) * sizeof(float);
  const double all_bytes = static_cast<double>(bench.graph->book().num_nodes(NodeTypeId(0))) * row_bytes;
  const auto memory_bytes = static_cast<uint64_t>(options.share * all_bytes);
  const Outcome without = Run(bench, options, /*memory_bytes=*/1, /*steps=*/0);
  const Outcome with = Run(bench, options, memory_bytes, options.steps);
  const Outcome floor = Run(bench, options, memory_bytes, options.batches);
  const double ratio = without.fetched_rows / with.fetched_rows;
  std::printf("without a cache: %.0f remote rows per step, %.1f MB, gathered in %.1f ms\n", without.fetched_rows,
              without.fetched_rows * row_bytes / 1e6, 1e3 * without.seconds);
  std::printf("cache of %.0f %% of the rows' bytes, %u steps: %.2f x fewer rows, %.1f ms per step, %.0f MB held %s\n",
              100 * options.share, options.steps, ratio, 1e3 * with.seconds, with.max_held_bytes / 1e6,
              AtLeast(2.5, ratio, " x").c_str());
  std::printf("... as many steps as its index has room for: %.2f x fewer rows\n",
              without.fetched_rows / floor.fetched_rows);
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
