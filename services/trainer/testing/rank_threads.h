// Runs the ranks of a run as threads of this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "services/collective/in_process_collective.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

using MakeGroup = std::function<std::vector<std::unique_ptr<collective::Collective>>(uint32_t)>;

// Returns the results of run_rank(Collective&) by rank. A rank that has returned leaves the group, so that no other
// rank waits for it.
template <class RunRank>
std::vector<Result<TrainOutcome>> RunAsThreads(uint32_t num_ranks, const RunRank& run_rank,
                                               const MakeGroup& make_group = collective::MakeInProcessGroup) {
  auto ranks = make_group(num_ranks);
  std::vector<Result<TrainOutcome>> outcomes(num_ranks, Unavailable("did not run"));
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[rank] = run_rank(*ranks[rank]);
      ranks[rank].reset();
    });
  }
  threads.clear();  // joins
  return outcomes;
}

}  // namespace espalier::trainer
