// Checks whether the job's object stores are reachable, before processes that need them are restarted.
#pragma once

#include <string>
#include <vector>

#include "services/job/dist_training.h"
#include "services/storage/open_store.h"

namespace espalier::run {

// Not thread-safe.
class StoreProbe {
 public:
  // Opens the stores of the graph, the partitions and the outputs of the document. `open` should set a short timeout,
  // because a call of Check blocks for as long as these stores retry a request. A URI that cannot be opened is skipped:
  // the process that needs it reports the error.
  StoreProbe(const job::DistTraining& job, const storage::StoreOpener& open);

  // Sends one small request to each store. Returns the error of the first store that is unreachable (Unavailable or
  // DeadlineExceeded). Any other response, including an error, counts as reachable.
  Status Check() const;

 private:
  std::vector<storage::StoreLocation> stores_;
};

}  // namespace espalier::run
