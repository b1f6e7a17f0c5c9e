// Complete runs on a test's graph, with threads as trainers and all partitions in this process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"
#include "services/sampler/access/row_initializers.h"
#include "services/storage/object_store.h"
#include "services/trainer/testing/rank_threads.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

// The arguments of a call of TrainingObserver::OnPhase.
struct PhaseReport {
  RunPhase phase = RunPhase::kTraining;
  std::optional<double> fraction;
};

struct SmallRun {
  uint32_t partitions = 1;
  uint32_t trainers = 1;
  std::string output = {};                                // a URI; empty: nothing is written
  std::shared_ptr<storage::ObjectStore> store = nullptr;  // for checkpoints; null: none are written
  uint64_t incarnation = 1;
  uint64_t stop_after = UINT64_MAX;  // steps
  // Row initializers of server plugins; null: none.
  std::shared_ptr<const sampler::RowInitializers> initializers = nullptr;
  std::vector<PhaseReport>* phases = nullptr;  // of rank 0; outlives the run
  MakeGroup make_group = collective::MakeInProcessGroup;
};

// Expects that the fraction of every phase whose amount of work is known begins at 0, never decreases, and reaches 1
// only with the last report, so that the expected work equals the work done. For runs with one trainer.
void ExpectExactFractions(const std::vector<PhaseReport>& reports);
// Returns the names of the phases in order, one for consecutive reports of the same phase.
std::vector<std::string> PhaseNames(const std::vector<PhaseReport>& reports);

// Runs the job and returns the outcome of rank 0. Reads the model file if the document names one.
Result<TrainOutcome> RunSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run = {});

// The same, but an error fails the test.
TrainOutcome TrainSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run = {});

}  // namespace espalier::trainer
