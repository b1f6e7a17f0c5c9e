// Measures the all-reduce of two ranks for several sizes in three ways: over bare sockets, over the ring in plaintext,
// and over the ring with mutual TLS. Ranks are threads of this process that communicate over loopback. Bare sockets
// give the lower bound of the time (the floor): each rank receives one half of the other rank's values, adds its own
// and sends back the sums.
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "services/base/clock.h"
#include "services/client/ring/ring_collective.h"
#include "services/runner/run/tls_files.h"

namespace espalier::benchmarks {
namespace {

using collective::Collective;
using Group = std::vector<std::unique_ptr<Collective>>;

Deadline InTwoMinutes() { return Deadline::After(std::chrono::minutes(2)); }

template <class T>
T OrDie(Result<T> result) {
  ESPALIER_CHECK(result.ok()) << result.status().ToString();
  return *std::move(result);
}

// Connects both ranks, each on a thread of its own.
Group ConnectOnTwoThreads(const std::function<std::unique_ptr<Collective>(uint32_t rank)>& connect) {
  Group group(2);
  std::thread other([&] { group[1] = connect(1); });
  group[0] = connect(0);
  other.join();
  return group;
}

// Two connected TCP sockets, one per rank.
class SocketPair {
 public:
  SocketPair() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    ESPALIER_CHECK(bind(listener, any, size) == 0 && listen(listener, 1) == 0 &&
                   getsockname(listener, any, &size) == 0);
    sockets_[0] = socket(AF_INET, SOCK_STREAM, 0);
    ESPALIER_CHECK(connect(sockets_[0], any, size) == 0) << "connecting over loopback failed";
    sockets_[1] = accept(listener, nullptr, nullptr);
    close(listener);
    for (const int socket : sockets_) {
      const int on = 1;
      ESPALIER_CHECK(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
    }
  }
  ~SocketPair() {
    for (const int socket : sockets_) close(socket);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  // Each rank sums one half of the values.
  void AllReduceSum(uint32_t rank, std::span<float> values) {
    const std::span<float> first = values.first(values.size() / 2), second = values.subspan(values.size() / 2);
    const std::span<float> own = rank == 0 ? first : second, other = rank == 0 ? second : first;
    std::vector<float>& arrived = arrived_[rank];
    arrived.resize(own.size());
    Exchange(rank, std::as_bytes(other), std::as_writable_bytes(std::span<float>(arrived)));
    for (size_t i = 0; i < own.size(); ++i) own[i] += arrived[i];
    Exchange(rank, std::as_bytes(own), std::as_writable_bytes(other));
  }

 private:
  // Sends and receives at the same time.
  void Exchange(uint32_t rank, std::span<const std::byte> out, std::span<std::byte> in) {
    const int socket = sockets_[rank];
    while (!out.empty() || !in.empty()) {
      pollfd events{.fd = socket, .events = 0, .revents = 0};
      if (!out.empty()) events.events |= POLLOUT;
      if (!in.empty()) events.events |= POLLIN;
      ESPALIER_CHECK(poll(&events, 1, 60'000) == 1) << "no data could be sent or received for a minute";
      if ((events.revents & POLLIN) != 0) in = in.subspan(CheckMoved(recv(socket, in.data(), in.size(), MSG_DONTWAIT)));
      if ((events.revents & POLLOUT) != 0) {
        out = out.subspan(CheckMoved(send(socket, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL)));
      }
    }
  }
  // Checks the result of recv or send.
  static size_t CheckMoved(ssize_t bytes) {
    ESPALIER_CHECK(bytes > 0) << "sending or receiving over loopback failed";
    return static_cast<size_t>(bytes);
  }

  int sockets_[2] = {-1, -1};
  std::vector<float> arrived_[2];
};

Group RingGroup(const std::shared_ptr<const rpc::TransportSecurity>& tls) {
  std::vector<std::unique_ptr<client::RingEndpoint>> endpoints;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    endpoints.push_back(OrDie(client::RingEndpoint::Listen({.rank = Rank(rank), .size = 2, .tls = tls})));
  }
  const std::string rank0 = endpoints[0]->address();
  return ConnectOnTwoThreads(
      [&](uint32_t rank) { return OrDie(client::ConnectRing(std::move(endpoints[rank]), rank0, InTwoMinutes())); });
}

std::shared_ptr<const rpc::TransportSecurity> TrainerTls(const run::TlsFiles& files, const std::string& folder) {
  const EnvironmentMap environment = files.MakeEnvironment(run::Role::kTrainer, folder);
  rpc::TlsSettings settings;
  settings.ca_file = environment.at("ESPALIER_TLS_CA");
  settings.certificate_file = environment.at("ESPALIER_TLS_CERTIFICATE");
  settings.key_file = environment.at("ESPALIER_TLS_KEY");
  settings.job = OrDie(pki::ParseJobIdentity(environment.at("ESPALIER_TLS_JOB")));
  return OrDie(rpc::TransportSecurity::Load(settings, pki::PeerRole::kTrainer));
}

// Returns the seconds of one all-reduce, the median over `rounds` after two rounds that warm up.
double MedianSeconds(const std::function<void(uint32_t rank, std::span<float> values)>& sum, size_t size_bytes,
                     int rounds) {
  std::vector<double> seconds;
  const auto reduce = [&](uint32_t rank) {
    std::vector<float> values(size_bytes / sizeof(float), 1.0f);
    for (int round = -2; round < rounds; ++round) {
      const Timer timer;
      sum(rank, values);
      if (rank == 0 && round >= 0) seconds.push_back(timer.Seconds());
    }
  };
  std::thread other([&] { reduce(1); });
  reduce(0);
  other.join();
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<size_t>(rounds) / 2];
}

double MedianSeconds(Group& group, size_t size_bytes, int rounds) {
  const auto sum = [&](uint32_t rank, std::span<float> values) {
    const Status status = group[rank]->AllReduceSum(values, InTwoMinutes());
    ESPALIER_CHECK(status.ok()) << status.ToString();
  };
  return MedianSeconds(sum, size_bytes, rounds);
}

int Main(int argc, char** argv) {
  CLI::App app{"All-reduce of 2 ranks: bare sockets, ring, ring with TLS"};
  double effort = 1;
  app.add_option("--effort", effort, "factor for the number of rounds")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  // The same settings as in trainers (services/trainer/ops/math_setup.cc).
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);

  std::string folder = std::filesystem::temp_directory_path() / "collective-bench-XXXXXX";
  ESPALIER_CHECK(mkdtemp(folder.data()) != nullptr) << "making a temporary folder failed";
  const std::unique_ptr<run::TlsFiles> files = OrDie(run::TlsFiles::Make(folder));
  SocketPair sockets;
  const auto over_sockets = [&](uint32_t rank, std::span<float> values) { sockets.AllReduceSum(rank, values); };
  Group ring = RingGroup(nullptr), tls_ring = RingGroup(TrainerTls(*files, folder));
  std::printf("%10s %14s %14s %14s %12s %12s\n", "bytes", "sockets us", "ring us", "TLS ring us", "ring/floor",
              "TLS/floor");
  const std::pair<size_t, int> sizes[] = {{1 << 10, 1000}, {1 << 20, 100}, {40'000'000, 20}};
  for (const auto& [size_bytes, usual_rounds] : sizes) {
    const int rounds = std::max(3, static_cast<int>(usual_rounds * effort));
    const double floor = MedianSeconds(over_sockets, size_bytes, rounds);
    const double plain = MedianSeconds(ring, size_bytes, rounds);
    const double secured = MedianSeconds(tls_ring, size_bytes, rounds);
    std::printf("%10zu %14.1f %14.1f %14.1f %12.2f %12.2f\n", size_bytes, 1e6 * floor, 1e6 * plain, 1e6 * secured,
                plain / floor, secured / floor);
  }
  return 0;
}

}  // namespace
}  // namespace espalier::benchmarks

int main(int argc, char** argv) { return espalier::benchmarks::Main(argc, argv); }
