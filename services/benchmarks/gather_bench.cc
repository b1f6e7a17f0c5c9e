// Measures gathering feature rows in one process, as a ratio to a prefetching copy of the same number of rows.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>

#include "services/base/philox.h"
#include "services/benchmarks/bench_graph.h"
#include "services/benchmarks/goal.h"
#include "services/benchmarks/stopwatch.h"
#include "services/graph/generators.h"

namespace espalier::benchmarks {
namespace {

struct Options {
  BenchGraphOptions graph{.feature_width = 100};
  uint64_t rows = 800'000;
  int repetitions = 8;
  ClockKind clock = ClockKind::kWall;
};

std::vector<GlobalNodeId> RandomNodes(uint64_t count, uint64_t num_nodes, uint64_t seed) {
  PhiloxStream random(seed, 0);
  std::vector<GlobalNodeId> nodes;
  for (uint64_t i = 0; i < count; ++i)
    nodes.push_back(GlobalNodeId(random.NextBelow(static_cast<uint32_t>(num_nodes))));
  return nodes;
}

// The upper bound of the rate (the ceiling): a copy into memory that is already allocated, prefetching 8 rows ahead.
void CopyRows(const std::byte* rows, size_t row_bytes, const std::vector<GlobalNodeId>& nodes, std::byte* out) {
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kAhead < nodes.size()) {
      const std::byte* later = rows + nodes[i + kAhead].value * row_bytes;
      for (size_t offset = 0; offset < row_bytes; offset += 64) __builtin_prefetch(later + offset);
    }
    std::memcpy(out + i * row_bytes, rows + nodes[i].value * row_bytes, row_bytes);
  }
}

// Runs work(thread) on all threads at the same time and returns the bytes per second of all threads together, the best
// of several runs. The time of a run is the mean over the threads.
template <class Work>
double BytesPerSecond(const Options& options, size_t bytes_per_thread, int threads, const Work& work) {
  double best = 0;
  for (int run = 0; run < options.repetitions; ++run) {
    std::atomic<double> thread_seconds{0};
    {
      std::vector<std::jthread> workers;
      for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
          const Stopwatch watch(options.clock);
          work(t);
          thread_seconds += watch.Seconds();
        });
      }
    }
    best = std::max(best, static_cast<double>(bytes_per_thread) * threads * threads / thread_seconds);
  }
  return best;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Feature gather in one process, as a ratio to a prefetching copy measured in the same run");
  app.add_option("--scale", options.graph.scale, "size of the graph; 1 is 2.4 M nodes")->capture_default_str();
  app.add_option("--partitions", options.graph.num_partitions)->capture_default_str();
  app.add_option("--rows", options.rows, "random rows that a gather reads")->capture_default_str();
  app.add_option("--width", options.graph.feature_width, "F32 values of a row")->capture_default_str();
  const std::map<std::string, ClockKind> clocks = {{"wall", ClockKind::kWall}, {"cpu", ClockKind::kThreadCpu}};
  app.add_option("--clock", options.clock, "wall; or cpu, for a machine that also runs other processes")
      ->transform(CLI::CheckedTransformer(clocks));
  CLI11_PARSE(app, argc, argv);

  const BenchGraph bench = MakeBenchGraph(options.graph);
  const Tensor& features = bench.shards[0]->data().nodes[0].columns.at(graph::kFeatureColumn);
  const size_t row_bytes = features.row_bytes();
  const size_t bytes = options.rows * row_bytes;
  const uint64_t num_local_rows = static_cast<uint64_t>(features.num_rows());
  for (const int threads : {1, 2}) {
    std::vector<std::vector<GlobalNodeId>> local, global;
    std::vector<std::vector<std::byte>> out(static_cast<size_t>(threads), std::vector<std::byte>(bytes));
    for (int t = 0; t < threads; ++t) {
      local.push_back(RandomNodes(options.rows, num_local_rows, static_cast<uint64_t>(t)));
      global.push_back(
          RandomNodes(options.rows, bench.graph->book().num_nodes(NodeTypeId(0)), static_cast<uint64_t>(t)));
    }
    const double ceiling = BytesPerSecond(options, bytes, threads, [&](int t) {
      CopyRows(features.bytes(), row_bytes, local[static_cast<size_t>(t)], out[static_cast<size_t>(t)].data());
    });
    const double gather = BytesPerSecond(options, bytes, threads, [&](int t) {
      const Result<Tensor> rows = bench.graph->GatherRows(
          NodeTypeId(0), graph::kFeatureColumn, global[static_cast<size_t>(t)], Deadline::After(std::chrono::hours(1)));
      ESPALIER_CHECK(rows.ok()) << rows.status().ToString();
    });
    const double percent = 100 * gather / ceiling;
    std::printf("%s %5.1f %% of a prefetching copy (%.1f GB/s; the copy: %.1f) %s\n",
                threads == 1 ? "1 thread: " : "2 threads:", percent, gather / 1e9, ceiling / 1e9,
                AtLeast(65, percent, " %").c_str());
  }
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
