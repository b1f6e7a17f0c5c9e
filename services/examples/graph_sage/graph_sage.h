// GraphSAGE with libtorch in a user program: the counterpart of the script in DGL's chapter on distributed training.
// docs/coming-from-dgl.md compares the two.
#pragma once

#include <string>

#include "espalier/base/status.h"
#include "espalier/client/initialize.h"

namespace example {

struct SageOptions {
  std::string split = "public";  // name of a node split
  uint32_t epochs = 30;
  double learning_rate = 0.003;
};

struct SageResult {
  double last_loss = 0;  // mean over the training nodes in the last epoch
  double test_accuracy = 0;
};

// Trains on the columns node-feat (F32) and node-label (I64) of a graph with one node type and one edge type. All ranks
// of the context must call it, and it returns the same result on each. InvalidArgument if a column has another dtype or
// the split has no training nodes.
espalier::Result<SageResult> TrainSage(const espalier::client::Context& context, const SageOptions& options);

}  // namespace example
