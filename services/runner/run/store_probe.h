// Whether a job's object stores can be reached at all, asked before processes are started again that need them.
#pragma once

#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/storage/open_store.h"

namespace espalier::run {

// Owned by one thread.
class StoreProbe {
 public:
  // Those that the document's graph, partitions and outputs name, opened by `open`: with little patience, because Look
  // waits for it. A URI that cannot be opened is left to the process that needs it.
  StoreProbe(const job::DistTraining& job, const storage::StoreOpener& open);

  // One small request to each. The error of the first that is out of reach (Unavailable, DeadlineExceeded; it names the
  // URI); ok where they answer, whatever they say: what a refusal means is for the processes to tell.
  Status Look() const;

 private:
  std::vector<storage::StoreLocation> stores_;
};

}  // namespace espalier::run
