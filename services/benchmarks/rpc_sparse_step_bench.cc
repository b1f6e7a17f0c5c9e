// Steps of sparse Adagrad on a graph server process, gradients sent by one client over loopback, as a ratio to a
// prefetching pass over as many rows in this process.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <future>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "services/base/philox.h"
#include "services/benchmarks/bench_graph.h"
#include "services/benchmarks/sparse_floor.h"
#include "services/benchmarks/stopwatch.h"
#include "services/client/session.h"
#include "services/server/graph_server.h"

namespace espalier::benchmarks {
namespace {

struct SparseFlags {
  BenchGraphOptions graph = {.scale = 0.1};
  uint32_t width = 128;
  size_t batch = 100'000;
  uint64_t steps = 10;
  int server_threads = 2;
};

Deadline InTime() { return Deadline::After(std::chrono::minutes(10)); }

// In a child: gRPC must not have been used before, it does not survive a fork.
pid_t ServeInChild(const SparseFlags& flags, const BenchGraph& bench, int address_pipe) {
  std::fflush(stdout);  // or the child prints it again
  const pid_t child = fork();
  ESPALIER_CHECK(child >= 0);
  if (child > 0) return child;
  server::GraphServerOptions server;
  server.partition_key = "bench";
  server.worker_threads = flags.server_threads;
  server::ServedGraph served;
  served.description = bench.graph->description();
  const auto graph_server = server::GraphServer::Start(server, std::move(served), bench.shards[0]);
  ESPALIER_CHECK(graph_server.ok()) << graph_server.status().ToString();
  const std::string line = (*graph_server)->address() + "\n";
  ESPALIER_CHECK(write(address_pipe, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  for (;;) pause();  // until the parent ends it
}

std::string ReadLine(int descriptor) {
  std::string line;
  for (char letter; read(descriptor, &letter, 1) == 1 && letter != '\n';) line += letter;
  return line;
}

// Rows a second of a pass over `rows` in a table of `num_rows`, the best of five.
double FloorRate(const SparseFlags& flags, uint64_t num_rows, const std::vector<LocalRowId>& rows,
                 const std::vector<float>& gradients) {
  std::vector<float> weights(num_rows * flags.width, 0.1f), state(num_rows * flags.width, 0.1f);
  const shard::LearnableTable table{.num_rows = num_rows,
                                    .width = flags.width,
                                    .state_width = flags.width,
                                    .weights = {weights.data(), flags.width},
                                    .state = {state.data(), flags.width}};
  const shard::RowGradients part{rows, gradients.data()};
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    const Stopwatch watch(ClockKind::kWall);
    TouchRows(table, std::span(&part, 1));
    best = std::max(best, static_cast<double>(rows.size()) / watch.Seconds());
  }
  return best;
}

// Rows a second: a step is sent while the owner applies the one before, when that before it has been acknowledged; the
// last one's rows end the time.
double ServedRate(const SparseFlags& flags, sampler::EmbeddingStore& store, const std::vector<GlobalRowId>& rows,
                  const Tensor& gradients) {
  const sampler::EmbeddingSpec spec{.id = {.rows = sampler::RowSpace::Nodes(NodeTypeId(0)), .name = "bench"},
                                    .width = flags.width};
  const Status created = store.CreateEmbedding(spec, InTime());
  ESPALIER_CHECK(created.ok()) << created.ToString();
  const auto run = [&](uint64_t first, uint64_t end) {
    std::queue<std::future<Status>> pushed;
    const auto await_first = [&] {
      const Status status = pushed.front().get();
      ESPALIER_CHECK(status.ok()) << status.ToString();
      pushed.pop();
    };
    for (uint64_t step = first; step < end; ++step) {
      if (pushed.size() == 2) await_first();
      const auto acknowledged = std::make_shared<std::promise<Status>>();
      pushed.push(acknowledged->get_future());
      store.PushGradients(spec, {step, Rank(0), 0.01}, rows, gradients, InTime(),
                          [acknowledged](Status status) { acknowledged->set_value(std::move(status)); });
    }
    while (!pushed.empty()) await_first();
    const auto last = store.ReadEmbedding(spec, end, std::span(rows).first(1), InTime());
    ESPALIER_CHECK(last.ok()) << last.status().ToString();
  };
  run(0, 2);  // warms up
  const Stopwatch watch(ClockKind::kWall);
  run(2, 2 + flags.steps);
  return static_cast<double>(rows.size() * flags.steps) / watch.Seconds();
}

int Main(int argc, char** argv) {
  SparseFlags flags;
  CLI::App app("Sparse Adagrad on a graph server, as a ratio to a prefetching pass measured in the same run");
  app.add_option("--scale", flags.graph.scale, "1 is 2.4 M rows")->capture_default_str();
  app.add_option("--width", flags.width, "F32 values of a row")->capture_default_str();
  app.add_option("--batch", flags.batch, "gradients of a step, at random rows")->capture_default_str();
  app.add_option("--steps", flags.steps, "measured")->capture_default_str();
  app.add_option("--server-threads", flags.server_threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const BenchGraph bench = MakeBenchGraph(flags.graph);
  const uint64_t num_rows = bench.graph->book().num_nodes(NodeTypeId(0));
  PhiloxStream random(1, 0);
  std::vector<LocalRowId> locals;
  std::vector<GlobalRowId> rows;  // one partition: the same numbers
  for (size_t i = 0; i < flags.batch; ++i) {
    locals.emplace_back(random.NextBelow(static_cast<uint32_t>(num_rows)));
    rows.emplace_back(locals.back().value);
  }
  std::vector<float> gradients(flags.batch * flags.width);
  for (float& value : gradients) value = random.NextUnitFloat() - 0.5f;

  const double floor = FloorRate(flags, num_rows, locals, gradients);
  int address[2];
  ESPALIER_CHECK(pipe(address) == 0);
  const pid_t child = ServeInChild(flags, bench, address[1]);
  client::SessionOptions options;
  options.addresses = {ReadLine(address[0])};
  options.access = client::Access::kRpc;
  const auto session = client::Connect(options);
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  const auto count = static_cast<int64_t>(flags.batch);
  const double served = ServedRate(flags, session->graph->embeddings(), rows,
                                   Tensor::FromVector(std::move(gradients), {count, int64_t{flags.width}}));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::printf("over RPC: %.1f %% of a prefetching pass over as many rows (%.2f of %.2f M rows/s)\n",
              100 * served / floor, served / 1e6, floor / 1e6);
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
