// The all-reduce of two ranks, by backend and size: Gloo, the gRPC ring in plaintext, the ring with mutual TLS.
// Ranks are threads of this process that talk over loopback sockets. Gloo is the floor.
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "services/apps/run/tls_files.h"
#include "services/base/clock.h"
#include "services/client/ring/ring_collective.h"
#include "services/trainer/gloo_collective.h"

namespace espalier::benchmarks {
namespace {

using collective::Collective;
using Group = std::vector<std::unique_ptr<Collective>>;

Deadline Soon() { return Deadline::After(std::chrono::minutes(2)); }

template <class T>
T ValueOf(Result<T> result) {
  ESPALIER_CHECK(result.ok()) << result.status().ToString();
  return *std::move(result);
}

Group OnTwoThreads(const std::function<std::unique_ptr<Collective>(uint32_t rank)>& connect) {
  Group group(2);
  std::thread other([&] { group[1] = connect(1); });
  group[0] = connect(0);
  other.join();
  return group;
}

Group GlooGroup() {
  auto host = ValueOf(trainer::Rendezvous::Host("127.0.0.1", 0));
  const uint16_t port = host->port();
  return OnTwoThreads([&](uint32_t rank) {
    auto rendezvous = rank == 0 ? std::move(host) : ValueOf(trainer::Rendezvous::Join("127.0.0.1", port, Soon()));
    return ValueOf(trainer::ConnectGloo(std::move(rendezvous), {Rank(rank), 2, "", "bench"}, Soon()));
  });
}

Group RingGroup(const std::shared_ptr<const rpc::TransportSecurity>& tls) {
  std::vector<std::unique_ptr<client::RingEndpoint>> endpoints;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    endpoints.push_back(ValueOf(client::RingEndpoint::Listen({.rank = Rank(rank), .size = 2, .tls = tls})));
  }
  const std::string rank0 = endpoints[0]->address();
  return OnTwoThreads(
      [&](uint32_t rank) { return ValueOf(client::ConnectRing(std::move(endpoints[rank]), rank0, Soon())); });
}

std::shared_ptr<const rpc::TransportSecurity> TrainerTls(const run::TlsFiles& files, const std::string& folder) {
  const EnvironmentMap told = files.EnvironmentOf(run::Role::kTrainer, folder);
  rpc::TlsSettings settings;
  settings.ca_file = told.at("ESPALIER_TLS_CA");
  settings.certificate_file = told.at("ESPALIER_TLS_CERTIFICATE");
  settings.key_file = told.at("ESPALIER_TLS_KEY");
  settings.job = ValueOf(pki::ParseJobIdentity(told.at("ESPALIER_TLS_JOB")));
  return ValueOf(rpc::TransportSecurity::Load(settings, pki::PeerRole::kTrainer));
}

// Of one all-reduce, the median over rounds; the first rounds warm up.
double MedianSeconds(Group& group, size_t size_bytes, int rounds) {
  std::vector<double> seconds;
  const auto reduce = [&](uint32_t rank) {
    std::vector<float> values(size_bytes / sizeof(float), 1.0f);
    for (int round = -2; round < rounds; ++round) {
      const Timer timer;
      const Status status = group[rank]->AllReduceSum(std::span<float>(values), Soon());
      ESPALIER_CHECK(status.ok()) << status.ToString();
      if (rank == 0 && round >= 0) seconds.push_back(timer.Seconds());
    }
  };
  std::thread other([&] { reduce(1); });
  reduce(0);
  other.join();
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<size_t>(rounds) / 2];
}

int Main(int argc, char** argv) {
  CLI::App app{"All-reduce of 2 ranks: Gloo, gRPC ring, gRPC ring with TLS"};
  double effort = 1;
  app.add_option("--effort", effort, "how many rounds, relative to the usual number")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::string folder = std::filesystem::temp_directory_path() / "collective-bench-XXXXXX";
  ESPALIER_CHECK(mkdtemp(folder.data()) != nullptr) << "making a temporary folder";
  const std::unique_ptr<run::TlsFiles> files = ValueOf(run::TlsFiles::Make(folder));
  Group gloo = GlooGroup(), ring = RingGroup(nullptr), tls_ring = RingGroup(TrainerTls(*files, folder));
  std::printf("%10s %14s %14s %14s %12s %12s\n", "bytes", "Gloo us", "ring us", "TLS ring us", "ring/Gloo", "TLS/Gloo");
  const std::pair<size_t, int> sizes[] = {{1 << 10, 1000}, {1 << 20, 100}, {40'000'000, 10}};
  for (const auto& [size_bytes, usual_rounds] : sizes) {
    const int rounds = std::max(3, static_cast<int>(usual_rounds * effort));
    const double floor = MedianSeconds(gloo, size_bytes, rounds);
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
