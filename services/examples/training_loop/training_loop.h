// The training loop of a user program (docs/programs.md).
#pragma once

#include <string>

#include "espalier/client/initialize.h"
#include "softmax_regression.h"

namespace example {

struct LoopOptions {
  uint32_t epochs = 10;
  std::string state_path;  // file where rank 0 saves the weights after each epoch; empty: none
  bool resume = false;     // resume from that file if it exists
};

struct LoopResult {
  double last_loss = 0;  // mean over the training nodes in the last epoch
  double test_accuracy = 0;
  std::vector<double> weights;
};

// Trains on the node split "random". All ranks of the context must call it, and it returns the same result on each.
// DataLoss on rank 0: the file to resume from is too short.
espalier::Result<LoopResult> TrainOnAllRanks(const espalier::client::Context& context, const LoopOptions& options);

}  // namespace example
