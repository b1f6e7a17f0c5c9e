// The loop of a user's program, as docs/programs.md shows it.
#pragma once

#include <string>

#include "espalier/client/initialize.h"
#include "softmax_regression.h"

namespace example {

struct LoopOptions {
  uint32_t epochs = 10;
  std::string state_path;  // where rank 0 saves what has been learned after each epoch; empty: nowhere
  bool goes_on = false;    // from what is there
};

struct LoopResult {
  double last_loss = 0;  // mean over the last epoch
  double test_accuracy = 0;
  std::vector<double> weights;
};

// Trains on the graph's split "random" with every rank of the context, of which this is one.
espalier::Result<LoopResult> TrainWithOthers(const espalier::client::Context& context, const LoopOptions& options);

}  // namespace example
