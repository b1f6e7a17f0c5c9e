// Runs a user's module on a small generated graph with the job's types, to report errors of the module before the first
// mini-batch is sampled.
#pragma once

#include <vector>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Runs each layer for all types at once, as for a mini-batch, and for each type alone, as in full-graph inference. Some
// rows have no in-edges. Appends the width of a layer's output to `widths` before the next layer runs, so that the
// model's OutputWidth can read it there. InvalidArgument: the module fails or writes invalid rows.
Status ProbeWidths(Model& model, const ModelOptions& options, std::vector<int64_t>* widths);

// Returns whether two passes give bitwise equal outputs and, if options.trains, bitwise equal gradients. Restores
// parameters and buffers. InvalidArgument: the module fails, for example because torch has no deterministic
// implementation of an operation.
Result<bool> IsRepeatable(Model& model, const ModelOptions& options);

}  // namespace espalier::trainer
