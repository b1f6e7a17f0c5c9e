// Groups whose ranks are threads and sum with the fake NCCL.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/check.h"
#include "services/base/testing/soon.h"
#include "services/collective/forwarding_collective.h"
#include "services/collective/nccl/nccl_collective.h"
#include "services/collective/nccl/testing/fake_nccl.h"

namespace espalier::collective {

// Returns the options of a rank whose GPU has the same number as the rank.
inline NcclOptions FakeOptions(uint32_t rank) {
  NcclOptions options;
  options.paths = {.nccl = FakeNcclPath(), .cuda_runtime = FakeNcclPath()};
  options.device = static_cast<int>(rank);
  return options;
}

// Connects all ranks, each in a thread of its own, and returns the results by rank. `change` may change a rank's
// options.
template <class Change>
std::vector<Result<NcclConnection>> ConnectRanks(std::vector<std::unique_ptr<Collective>> ranks, const Change& change,
                                                 const Deadline& deadline = Soon()) {
  std::vector<Result<NcclConnection>> connections;
  for (size_t rank = 0; rank < ranks.size(); ++rank) connections.push_back(Unavailable("did not run"));
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      NcclOptions options = FakeOptions(rank);
      change(rank, options);
      connections[rank] = ConnectNccl(std::move(ranks[rank]), options, deadline);
    });
  }
  threads.clear();  // joins
  return connections;
}

// Passes sums of f32 to AllReduceSumOnDevice, which works because the fake uses host memory as GPU memory.
class SumsOfHostOnDevice final : public ForwardingCollective {
 public:
  explicit SumsOfHostOnDevice(std::unique_ptr<Collective> group) : ForwardingCollective(std::move(group)) {}

  using ForwardingCollective::AllReduceSum;
  Status AllReduceSum(std::span<float> values, Deadline deadline) override {
    return AllReduceSumOnDevice({values.data(), values.size()}, deadline);
  }
  bool SumsOnDevice() const override { return false; }
};

// Returns ranks that sum on devices with the fake NCCL, over the connections of `ranks`.
inline std::vector<std::unique_ptr<Collective>> WithFakeNccl(std::vector<std::unique_ptr<Collective>> ranks) {
  std::vector<std::unique_ptr<Collective>> groups;
  for (Result<NcclConnection>& connection : ConnectRanks(std::move(ranks), [](uint32_t, NcclOptions&) {})) {
    ESPALIER_CHECK(connection.ok()) << connection.status().ToString();
    ESPALIER_CHECK(connection->unusable.ok()) << connection->unusable.ToString();
    groups.push_back(std::move(connection->group));
  }
  return groups;
}

// The same, for sums of f32 in the memory of the host.
inline std::vector<std::unique_ptr<Collective>> SumWithFakeNccl(std::vector<std::unique_ptr<Collective>> ranks) {
  std::vector<std::unique_ptr<Collective>> groups = WithFakeNccl(std::move(ranks));
  for (auto& group : groups) group = std::make_unique<SumsOfHostOnDevice>(std::move(group));
  return groups;
}

}  // namespace espalier::collective
