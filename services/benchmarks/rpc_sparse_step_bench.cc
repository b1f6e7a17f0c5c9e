// Measures the rate of sparse Adagrad steps on a graph server process, with gradients from one client over loopback.
// Two upper bounds of the rate (ceilings) are measured in the same run: the rate of a prefetching pass (sparse_floor.h)
// over the same rows of a table in this process, and the rate of sending the same bytes to a process that drops them,
// in messages of the same size and with the same number of messages in flight. Nothing that sends this data over gRPC
// can exceed the second ceiling.
#include <grpcpp/support/server_callback.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "espalier/tensor/v1/tensor.grpc.pb.h"
#include "services/base/heap.h"
#include "services/base/philox.h"
#include "services/benchmarks/bench_graph.h"
#include "services/benchmarks/goal.h"
#include "services/benchmarks/sparse_floor.h"
#include "services/benchmarks/stopwatch.h"
#include "services/client/remote/call_window.h"
#include "services/client/session/session.h"
#include "services/rpc/server.h"
#include "services/server/graph_server.h"

namespace espalier::benchmarks {
namespace {

constexpr const char* kDropMethod = "/espalier.tensor.v1.TensorStore/Drop";
constexpr size_t kStepsInFlight = 2;
constexpr uint64_t kWarmUpSteps = 8;  // they use the same rows as the measured steps

struct SparseFlags {
  BenchGraphOptions graph = {.scale = 0.1};
  uint32_t width = 128;
  size_t batch = 100'000;
  uint64_t steps = 40;
  int server_threads = 2;
};

// Receives requests and drops them.
class DropService final : public tensor::v1::TensorStore::WithRawCallbackMethod_Drop<tensor::v1::TensorStore::Service> {
 public:
  grpc::ServerUnaryReactor* Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                 grpc::ByteBuffer* reply) override {
    *reply = grpc::ByteBuffer(nullptr, 0);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

Deadline InTenMinutes() { return Deadline::After(std::chrono::minutes(10)); }

// Runs a graph server and a DropService in a child process, which writes their addresses to `address_pipe`, one per
// line. Returns the id of the child. This process must not have used gRPC, which does not survive a fork.
pid_t ServeInChild(const SparseFlags& flags, const BenchGraph& bench, int address_pipe) {
  std::fflush(stdout);  // otherwise the child prints the buffered output again
  const pid_t child = fork();
  ESPALIER_CHECK(child >= 0);
  if (child > 0) return child;
  KeepFreedMemory();  // as in a graph server process
  server::GraphServerOptions server;
  server.partition_key = "bench";
  server.worker_threads = flags.server_threads;
  server::ServedGraph served;
  served.description = bench.graph->description();
  const auto graph_server = server::GraphServer::Start(server, std::move(served), bench.shards[0]);
  ESPALIER_CHECK(graph_server.ok()) << graph_server.status().ToString();
  DropService drop_service;
  const auto drop_server = rpc::RpcServer::Start({}, {&drop_service});
  ESPALIER_CHECK(drop_server.ok()) << drop_server.status().ToString();
  const std::string line = (*graph_server)->address() + "\n" + (*drop_server)->address() + "\n";
  ESPALIER_CHECK(write(address_pipe, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  for (;;) pause();  // until the parent kills this process
}

std::string ReadLine(int descriptor) {
  std::string line;
  for (char letter; read(descriptor, &letter, 1) == 1 && letter != '\n';) line += letter;
  ESPALIER_CHECK(!line.empty()) << "the server process ended before it wrote its addresses";
  return line;
}

// Returns the rows per second of sending the ids and gradients of flags.steps steps to the process that drops them,
// without copying them first.
double RawRate(const SparseFlags& flags, const std::string& address, const client::SessionOptions& options,
               const std::vector<LocalRowId>& rows, const std::vector<float>& gradients) {
  const size_t rows_per_call = std::max<size_t>(1, options.reply_bytes_per_call / (flags.width * sizeof(float)));
  const size_t calls_per_step = (rows.size() + rows_per_call - 1) / rows_per_call;
  const auto peer = std::make_shared<rpc::Peer>("raw requests", address, rpc::ChannelSettings());
  const auto run = [&](uint64_t steps) {
    client::PiecewiseRequest query{.method = kDropMethod, .num_pieces = calls_per_step * steps};
    query.encode_request = [&](size_t call) {
      const size_t first = call % calls_per_step * rows_per_call, count = std::min(rows_per_call, rows.size() - first);
      const grpc::Slice slices[] = {
          {rows.data() + first, count * sizeof(LocalRowId), grpc::Slice::STATIC_SLICE},
          {gradients.data() + first * flags.width, count * flags.width * sizeof(float), grpc::Slice::STATIC_SLICE}};
      return grpc::ByteBuffer(slices, 2);
    };
    query.handle_reply = [](size_t, const grpc::ByteBuffer&) { return Status(); };
    const auto sent = std::make_shared<std::promise<Status>>();
    client::RequestInPieces(peer, std::move(query), options.calls_in_flight * kStepsInFlight, InTenMinutes(),
                            [sent](Status status) { sent->set_value(std::move(status)); });
    const Status status = sent->get_future().get();
    ESPALIER_CHECK(status.ok()) << status.ToString();
  };
  run(kWarmUpSteps);
  const Stopwatch watch(ClockKind::kWall);
  run(flags.steps);
  return static_cast<double>(rows.size() * flags.steps) / watch.Seconds();
}

// Returns the rows per second of a prefetching pass over `rows` in a table of `num_rows` rows, the best of five.
double PassRate(const SparseFlags& flags, uint64_t num_rows, const std::vector<LocalRowId>& rows,
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

// Returns the rows per second of steps on the server. Up to kStepsInFlight steps are unacknowledged, so a step is sent
// while the server applies the previous one. The time ends when a read after the last step has returned.
double ServedRate(const SparseFlags& flags, sampler::EmbeddingStore& store, const std::vector<GlobalRowId>& rows,
                  const Tensor& gradients) {
  const sampler::EmbeddingSpec spec{.id = {.rows = sampler::RowSpace::Nodes(NodeTypeId(0)), .name = "bench"},
                                    .width = flags.width};
  const Status created = store.CreateEmbedding(spec, InTenMinutes());
  ESPALIER_CHECK(created.ok()) << created.ToString();
  const auto run = [&](uint64_t first, uint64_t end) {
    std::queue<std::future<Status>> pushed;
    const auto await_first = [&] {
      const Status status = pushed.front().get();
      ESPALIER_CHECK(status.ok()) << status.ToString();
      pushed.pop();
    };
    for (uint64_t step = first; step < end; ++step) {
      if (pushed.size() == kStepsInFlight) await_first();
      const auto acknowledged = std::make_shared<std::promise<Status>>();
      pushed.push(acknowledged->get_future());
      store.PushGradients(spec, {step, Rank(0), 0.01}, rows, gradients, InTenMinutes(),
                          [acknowledged](Status status) { acknowledged->set_value(std::move(status)); });
    }
    while (!pushed.empty()) await_first();
    const auto last = store.ReadEmbedding(spec, end, std::span(rows).first(1), InTenMinutes());
    ESPALIER_CHECK(last.ok()) << last.status().ToString();
  };
  run(0, kWarmUpSteps);
  const Stopwatch watch(ClockKind::kWall);
  run(kWarmUpSteps, kWarmUpSteps + flags.steps);
  return static_cast<double>(rows.size() * flags.steps) / watch.Seconds();
}

int Main(int argc, char** argv) {
  SparseFlags flags;
  CLI::App app("Rate of sparse Adagrad on a graph server, as ratios to those of a prefetching pass and of raw gRPC");
  app.add_option("--scale", flags.graph.scale, "size of the graph; 1 is 2.4 M nodes with one row each")
      ->capture_default_str();
  app.add_option("--width", flags.width, "F32 values of a row")->capture_default_str();
  app.add_option("--batch", flags.batch, "gradients per step, each of a random row")->capture_default_str();
  app.add_option("--steps", flags.steps, "measured steps")->capture_default_str();
  app.add_option("--server-threads", flags.server_threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const BenchGraph bench = MakeBenchGraph(flags.graph);
  const uint64_t num_rows = bench.graph->book().num_nodes(NodeTypeId(0));
  PhiloxStream random(1, 0);
  std::vector<LocalRowId> locals;
  std::vector<GlobalRowId> rows;  // with one partition, global ids equal local ids
  for (size_t i = 0; i < flags.batch; ++i) {
    locals.emplace_back(random.NextBelow(static_cast<uint32_t>(num_rows)));
    rows.emplace_back(locals.back().value);
  }
  std::vector<float> gradients(flags.batch * flags.width);
  for (float& value : gradients) value = random.NextUnitFloat() - 0.5f;

  const double pass = PassRate(flags, num_rows, locals, gradients);
  int address[2];
  ESPALIER_CHECK(pipe(address) == 0);
  const pid_t child = ServeInChild(flags, bench, address[1]);
  close(address[1]);  // now only the child has the write end, so ReadLine ends if the child fails
  client::SessionOptions options;
  options.addresses = {ReadLine(address[0])};
  options.access = client::Access::kRpc;
  const double raw = RawRate(flags, ReadLine(address[0]), options, locals, gradients);
  const auto session = client::Connect(options);
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  const auto count = static_cast<int64_t>(flags.batch);
  const double served = ServedRate(flags, session->graph->embeddings(), rows,
                                   Tensor::FromVector(std::move(gradients), {count, int64_t{flags.width}}));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const double percent = 100 * served / std::min(pass, raw);
  std::printf("over RPC %.2f M rows/s: %.1f %% of a prefetching pass over the same number of rows (%.2f M rows/s)\n",
              served / 1e6, 100 * served / pass, pass / 1e6);
  std::printf("over RPC %.2f M rows/s: %.1f %% of the same bytes over raw gRPC (%.2f M rows/s)\n", served / 1e6,
              100 * served / raw, raw / 1e6);
  std::printf("of the lower ceiling: %.1f %% %s\n", percent, AtLeast(60, percent, " %").c_str());
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
