// Whole runs on graphs of a test's own, with threads as trainers and all partitions in this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/graph/source_graph.h"
#include "services/job/dist_training.h"
#include "services/sampler/access/row_initializers.h"
#include "services/storage/object_store.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

struct SmallRun {
  uint32_t partitions = 1;
  uint32_t trainers = 1;
  std::string output = {};                                // a URI; empty: nothing is written
  std::shared_ptr<storage::ObjectStore> store = nullptr;  // of checkpoints; null: there are none
  uint64_t incarnation = 1;
  uint64_t stop_after = UINT64_MAX;  // steps
  // Of the servers' plugins; null: there are none.
  std::shared_ptr<const sampler::RowInitializers> initializers = nullptr;
};

// What rank 0 ends with. A model file that the document names is read.
Result<TrainOutcome> RunSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run = {});

// The same; a run that fails fails the test.
TrainOutcome TrainSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run = {});

}  // namespace espalier::trainer
