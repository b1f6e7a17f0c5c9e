// What a user's module does on a small generated graph with the job's types: whatever is wrong with it is known before
// anything is sampled.
#pragma once

#include <vector>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Appends the width of what each layer writes to `widths`, as soon as it is known: the model's OutputWidth of a layer
// may come from there when the next one is called. Layers are computed for all types at once, as for a mini-batch, and
// for each type alone, as whole-graph inference does; some rows have no in-edges. InvalidArgument where the module
// fails or writes something else.
Status ProbeWidths(Model& model, const ModelOptions& options, std::vector<int64_t>* widths);

// Whether two passes give the same numbers, bit by bit: outputs and gradients of a training pass, or outputs alone
// where the model is only applied. The model is left as it was. InvalidArgument where the module fails, for one because
// torch knows no deterministic form of what it computes.
Result<bool> IsRepeatable(Model& model, const ModelOptions& options);

}  // namespace espalier::trainer
