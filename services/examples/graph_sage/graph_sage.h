// GraphSAGE with libtorch on every rank of a program: the script of DGL's chapter on distributed training, as
// docs/coming-from-dgl.md shows it beside that.
#pragma once

#include <string>

#include "espalier/base/status.h"
#include "espalier/client/initialize.h"

namespace example {

struct SageOptions {
  std::string split = "public";  // of the nodes, by name
  uint32_t epochs = 30;
  double learning_rate = 0.003;
};

struct SageResult {
  double last_loss = 0;  // mean over the training nodes, of the last epoch
  double test_accuracy = 0;
};

// Trains with every rank of the context, of which this is one, on the columns node-feat (F32) and node-label (I64) of a
// graph of one node type and one relation; InvalidArgument where they are of another dtype, or where the split has no
// training nodes. The same result on every rank.
espalier::Result<SageResult> TrainSage(const espalier::client::Context& context, const SageOptions& options);

}  // namespace example
