// Whole runs on graphs of a test's own, with threads as trainers and all partitions in this process.
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
#include "services/trainer/train_job.h"

namespace espalier::trainer {

// What TrainingObserver::OnPhase was called with.
struct PhaseReport {
  RunPhase phase = RunPhase::kTraining;
  std::optional<double> fraction;
};

struct SmallRun {
  uint32_t partitions = 1;
  uint32_t trainers = 1;
  std::string output = {};                                // a URI; empty: nothing is written
  std::shared_ptr<storage::ObjectStore> store = nullptr;  // of checkpoints; null: there are none
  uint64_t incarnation = 1;
  uint64_t stop_after = UINT64_MAX;  // steps
  // Of the servers' plugins; null: there are none.
  std::shared_ptr<const sampler::RowInitializers> initializers = nullptr;
  std::vector<PhaseReport>* phases = nullptr;  // of rank 0; outlives the run
};

// Expects that every phase whose work was known began at 0, did not go back and reached 1 with its last report only:
// the work that was expected is the work that was done. For runs of one trainer.
void ExpectExactFractions(const std::vector<PhaseReport>& reports);
// The names of the phases in order, each once for all of its reports in a row.
std::vector<std::string> PhaseNames(const std::vector<PhaseReport>& reports);

// What rank 0 ends with. A model file that the document names is read.
Result<TrainOutcome> RunSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run = {});

// The same; a run that fails fails the test.
TrainOutcome TrainSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run = {});

}  // namespace espalier::trainer
