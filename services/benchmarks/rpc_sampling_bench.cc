// Measures sampling by client processes through graph server processes, all on this machine. Compares the rate with two
// others from the same run: that of the same sampling without RPC, and the bytes per second of gRPC alone, with large
// messages of zeros (in this comparison a sampled edge counts as 4 bytes). Processes are forked before they use gRPC,
// since gRPC does not survive a fork. They synchronize with the parent by lines over pipes.
#include <grpcpp/support/server_callback.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "espalier/tensor/v1/tensor.grpc.pb.h"
#include "services/benchmarks/bench_graph.h"
#include "services/benchmarks/goal.h"
#include "services/benchmarks/stopwatch.h"
#include "services/client/session/session.h"
#include "services/graph/generators.h"
#include "services/rpc/call.h"
#include "services/sampler/batches/fanout_sampler.h"
#include "services/server/graph_server.h"

namespace espalier::benchmarks {
namespace {

constexpr size_t kRawReplyBytes = size_t{1} << 20;
constexpr const char* kRawMethod = "/espalier.tensor.v1.TensorStore/Drop";

struct Options {
  BenchGraphOptions graph = {.num_partitions = 2};
  std::vector<int32_t> fanouts = {15, 10, 5};
  uint64_t batch_size = 1024;
  uint32_t batches = 40;
  uint32_t clients = 2;
  int client_threads = 2;
  int server_threads = 2;
};

// Responds to every request with 1 MiB of zeros, always from the same memory.
class RawReplyService final
    : public tensor::v1::TensorStore::WithRawCallbackMethod_Drop<tensor::v1::TensorStore::Service> {
 public:
  grpc::ServerUnaryReactor* Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                 grpc::ByteBuffer* reply) override {
    static const std::vector<char> zeros(kRawReplyBytes);
    const grpc::Slice slice(zeros.data(), zeros.size(), grpc::Slice::STATIC_SLICE);
    *reply = grpc::ByteBuffer(&slice, 1);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// A pipe that carries lines of text between the parent and its children. Read waits for a line as long as any process
// has the write end open. To notice a child that ended without its line, the parent closes its write end after the
// forks. If several children share a pipe, each also closes its own write end, or ends, after its last line.
struct Pipe {
  Pipe() { ESPALIER_CHECK(pipe(ends) == 0); }
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void CloseWriteEnd() { close(std::exchange(ends[1], -1)); }
  void Write(const std::string& line) const {
    const std::string text = line + "\n";  // in one write, which lines of other children do not interrupt
    ESPALIER_CHECK(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  std::string Read() const {
    std::string line;
    for (char letter = 0; letter != '\n';) {
      ESPALIER_CHECK(read(ends[0], &letter, 1) == 1) << "a process ended before it wrote its line";
      if (letter != '\n') line += letter;
    }
    return line;
  }
  int ends[2];
};

// Runs `work` in a child process and returns its id. The kernel ends the child when this process ends. This process
// must not have used gRPC, which does not survive a fork.
pid_t Fork(const std::function<void()>& work) {
  std::fflush(stdout);  // otherwise the child prints the buffered output again
  const pid_t child = fork();
  ESPALIER_CHECK(child >= 0);
  if (child > 0) return child;
  ESPALIER_CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  work();
  std::fflush(stdout);
  _exit(0);
}

void Serve(const Options& options, const BenchGraph& bench, uint32_t partition, const Pipe& addresses) {
  server::GraphServerOptions server;
  server.partition_key = "bench";
  server.worker_threads = options.server_threads;
  server::ServedGraph served;
  served.description = bench.graph->description();
  const auto graph_server = server::GraphServer::Start(server, std::move(served), bench.shards[partition]);
  ESPALIER_CHECK(graph_server.ok()) << graph_server.status().ToString();
  RawReplyService raw_replies;
  const auto raw_server = rpc::RpcServer::Start({}, {&raw_replies});
  ESPALIER_CHECK(raw_server.ok()) << raw_server.status().ToString();
  addresses.Write((*graph_server)->address() + " " + (*raw_server)->address());
  for (;;) pause();  // until the parent kills this process
}

// Shared by the threads of a client.
struct Work {
  std::atomic<uint32_t> next_step{0};
  std::atomic<uint64_t> edges{0};
};

// Samples the steps [first, end), numbered over all epochs, together with the other threads that share `work`.
void SampleSteps(const Options& options, sampler::PartitionedGraph& graph, uint32_t first, uint32_t end, Work& work) {
  sampler::SamplingSpec spec{.seed = 7};
  for (const int32_t fanout : options.fanouts) spec.layers.push_back({{fanout}});
  Result<sampler::FanoutSampler> sampler = sampler::FanoutSampler::Make(graph, spec);
  ESPALIER_CHECK(sampler.ok()) << sampler.status().ToString();
  const Deadline deadline = Deadline::After(std::chrono::minutes(10));
  const Result<uint64_t> num_seeds = graph.Count(NodeTypeId(0), graph::kRandomSplit, graph::SplitPartName::kTrain);
  ESPALIER_CHECK(num_seeds.ok()) << num_seeds.status().ToString();
  const auto full_steps = static_cast<uint32_t>(std::max<uint64_t>(1, *num_seeds / options.batch_size));  // per epoch
  for (uint32_t number; (number = first + work.next_step++) < end;) {
    const uint32_t epoch = number / full_steps, step = number % full_steps;
    const auto seeds = graph.SeedsOfStep(
        {.split = graph::kRandomSplit, .seed = 7, .epoch = epoch, .step = step, .batch_size = options.batch_size},
        deadline);
    ESPALIER_CHECK(seeds.ok()) << seeds.status().ToString();
    const auto batch = sampler->Sample({.epoch = epoch, .step = step, .seeds = seeds->seeds}, deadline);
    ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
    for (const sampler::BatchLayer& layer : batch->layers) work.edges += layer.blocks[0].indices.size();
  }
}

// Samples `count` steps from step number `first` on and returns the number of sampled edges.
uint64_t SampleBatches(const Options& options, sampler::PartitionedGraph& graph, uint32_t first, uint32_t count) {
  Work work;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < options.client_threads; ++t) {
      threads.emplace_back([&] { SampleSteps(options, graph, first, first + count, work); });
    }
  }
  return work.edges;
}

// Measures the edges per second of one client. It warms up, writes to `ready`, and waits for `start` before it
// measures.
void Sample(const Options& options, uint32_t client, const std::vector<std::string>& servers, Pipe& ready,
            const Pipe& start, const Pipe& results) {
  client::SessionOptions session_options;
  session_options.addresses = servers;
  session_options.access = client::Access::kRpc;
  const auto session = client::Connect(session_options);
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  const uint32_t first = client * (options.batches + 8);
  SampleBatches(options, *session->graph, first, 8);
  ready.Write("ready");
  ready.CloseWriteEnd();
  start.Read();
  const Stopwatch watch(ClockKind::kWall);
  const uint64_t edges = SampleBatches(options, *session->graph, first + 8, options.batches);
  results.Write(std::to_string(static_cast<double>(edges) / watch.Seconds()));
}

// Measures the bytes per second that one client receives from `servers`, which are RawReplyServices. Takes about a
// second, with four threads that each have one call in flight.
void MeasureRawReplies(const std::vector<std::string>& servers, Pipe& ready, const Pipe& start, const Pipe& results) {
  constexpr int kInFlight = 4;
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> stop{false};
  std::vector<std::jthread> callers;
  std::vector<std::shared_ptr<rpc::Peer>> peers;
  for (const std::string& address : servers) {
    peers.push_back(std::make_shared<rpc::Peer>("raw replies", address, rpc::ChannelSettings()));
  }
  ready.Write("ready");
  ready.CloseWriteEnd();
  start.Read();
  const Stopwatch watch(ClockKind::kWall);
  for (int i = 0; i < kInFlight; ++i) {
    callers.emplace_back([&, peer = peers[static_cast<size_t>(i) % peers.size()]] {
      while (!stop) {
        const auto reply =
            rpc::CallAndWait(peer, kRawMethod, grpc::ByteBuffer(nullptr, 0), Deadline::After(std::chrono::minutes(1)));
        ESPALIER_CHECK(reply.ok()) << reply.status().ToString();
        bytes += reply->Length();
        if (watch.Seconds() > 1) stop = true;
      }
    });
  }
  callers.clear();
  results.Write(std::to_string(static_cast<double>(bytes) / watch.Seconds()));
}

// Runs `count` client processes at the same time and returns the sum of their rates.
double RunClients(
    uint32_t count,
    const std::function<void(uint32_t client, Pipe& ready, const Pipe& start, const Pipe& results)>& client) {
  Pipe ready, start, results;
  std::vector<pid_t> children;
  for (uint32_t c = 0; c < count; ++c) children.push_back(Fork([&] { client(c, ready, start, results); }));
  ready.CloseWriteEnd();
  results.CloseWriteEnd();
  for (uint32_t c = 0; c < count; ++c) ready.Read();
  for (uint32_t c = 0; c < count; ++c) start.Write("go");
  double sum = 0;
  for (uint32_t c = 0; c < count; ++c) sum += std::stod(results.Read());
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return sum;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Sampling through server processes, compared with gRPC alone and with sampling without RPC");
  app.add_option("--scale", options.graph.scale, "size of the graph; 1 is 2.4 M nodes, 123 M edges")
      ->capture_default_str();
  app.add_option("--servers", options.graph.num_partitions, "partitions, each with a server")->capture_default_str();
  app.add_option("--clients", options.clients)->capture_default_str();
  app.add_option("--client-threads", options.client_threads, "batches that a client samples at the same time")
      ->capture_default_str();
  app.add_option("--server-threads", options.server_threads)->capture_default_str();
  app.add_option("--fanouts", options.fanouts, "by layer; the last is for the seeds")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--batch-size", options.batch_size)->capture_default_str();
  app.add_option("--batches", options.batches, "batches that each client samples while the time is measured")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const BenchGraph bench = MakeBenchGraph(options.graph);
  std::vector<pid_t> server_processes;
  std::vector<std::string> servers, raw_servers;
  for (uint32_t p = 0; p < options.graph.num_partitions; ++p) {
    Pipe addresses;
    server_processes.push_back(Fork([&] { Serve(options, bench, p, addresses); }));
    addresses.CloseWriteEnd();
    const std::string line = addresses.Read();
    servers.push_back(line.substr(0, line.find(' ')));
    raw_servers.push_back(line.substr(line.find(' ') + 1));
  }
  const double raw_bytes =
      RunClients(options.clients, [&](uint32_t, Pipe& ready, const Pipe& start, const Pipe& results) {
        MeasureRawReplies(raw_servers, ready, start, results);
      });
  const double edges =
      RunClients(options.clients, [&](uint32_t client, Pipe& ready, const Pipe& start, const Pipe& results) {
        Sample(options, client, servers, ready, start, results);
      });
  const double local_edges =
      RunClients(options.clients, [&](uint32_t client, Pipe& ready, const Pipe& start, const Pipe& results) {
        const uint32_t first = client * (options.batches + 8);
        SampleBatches(options, *bench.graph, first, 8);
        ready.Write("ready");
        ready.CloseWriteEnd();
        start.Read();
        const Stopwatch watch(ClockKind::kWall);
        const uint64_t drawn = SampleBatches(options, *bench.graph, first + 8, options.batches);
        results.Write(std::to_string(static_cast<double>(drawn) / watch.Seconds()));
      });
  for (const pid_t server : server_processes) {
    kill(server, SIGKILL);
    waitpid(server, nullptr, 0);
  }
  const double clients = options.clients;
  const double million_edges = edges / clients / 1e6;
  std::printf("%u servers, %u clients\n", options.graph.num_partitions, options.clients);
  std::printf("raw gRPC, 1 MB replies   %7.2f GB/s per client\n", raw_bytes / clients / 1e9);
  std::printf("sampling without RPC     %7.2f M edges/s per client\n", local_edges / clients / 1e6);
  std::printf(
      "sampling through servers %7.2f M edges/s per client: %.0f %% of sampling without RPC, %.1f %% of gRPC's bytes\n",
      million_edges, 100 * edges / local_edges, 100 * 4 * edges / raw_bytes);
  std::printf("a client: %.2f M edges/s %s\n", million_edges, AtLeast(20, million_edges, " M edges/s").c_str());
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
