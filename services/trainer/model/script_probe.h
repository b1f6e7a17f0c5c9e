// Runs a user's module on a small generated graph with the job's types, to report its errors before anything is
// sampled.
#pragma once

#include <vector>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Appends the width of each layer's output to `widths` as soon as it is known, so that the model's OutputWidth can read
// it there before the next layer runs. Each layer runs for all types at once, as for a mini-batch, and for each type
// alone, as in full-graph inference; some rows have no in-edges. InvalidArgument: the module fails or writes invalid
// rows.
Status ProbeWidths(Model& model, const ModelOptions& options, std::vector<int64_t>* widths);

// Returns whether two passes have bitwise equal results: outputs and gradients of a training pass, or outputs alone if
// the model is only applied. Restores parameters and buffers. InvalidArgument: the module fails, for example because
// torch has no deterministic implementation of an operation.
Result<bool> IsRepeatable(Model& model, const ModelOptions& options);

}  // namespace espalier::trainer
