// A user's model: a TorchScript module that computes one layer at a time, so that the same module trains on sampled
// mini-batches and runs full-graph inference layer by layer.
//
//   def forward(self, layer: int, x: Dict[str, Tensor], blocks: Dict[str, Tuple[Tensor, Tensor]],
//               num_rows: Dict[str, int]) -> Dict[str, Tensor]
//
//     layer     0 is the first layer, farthest from the seeds; each layer has an entry in spec.training.sampling.layers
//     x         by node type: f32 [rows read, F]. Layer 0 reads the features followed by the learnable rows (F = 0 for
//               a type with neither); other layers read the output of the layer before. The rows of the nodes that
//               the layer writes come first.
//     blocks    by "source:relation:destination", for each relation that the layer samples: (indptr i64 [S + 1],
//               indices i64 [E]). The in-neighbors of destination row s are the rows
//               indices[indptr[s] : indptr[s + 1]] of the x of the source type.
//     num_rows  by node type: the number of rows that the layer must write
//     result    by node type: f32 [num_rows, W] for every type with num_rows > 0; W is the same for all types of a
//               layer. The last layer writes the task's outputs: logits or values.
//
// All state that the module keeps between calls must be in parameters and buffers, which are part of checkpoints and
// model files. Parameters that require a gradient are trained and must be f32. `forward` may write into a buffer or
// replace it by a tensor of the same dtype and shape. After a training step, the buffers of all ranks equal those of
// rank 0. Before each call, the trainer calls train() or eval() of the module and seeds torch's generator from (seed,
// epoch, step, layer, rank), so that a run can be repeated; masks drawn from it depend on the number of trainers. The
// module is code that runs in the trainer's process with the trainer's rights: use only trusted modules.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "services/trainer/model/model.h"
#include "services/trainer/model/module_file.h"

namespace espalier::trainer {

// Creates the model from options.module. Runs the module on a small graph with the job's types (script_probe.h).
// InvalidArgument: options.module is null, the archive cannot be read, `forward` has another signature, a parameter or
// buffer cannot be registered, the module fails or writes invalid rows on the small graph, or, if options.trains, there
// is nothing to learn. A module whose results on the small graph are not repeatable is accepted with a warning in the
// log.
Result<std::shared_ptr<Model>> MakeScriptModel(const ModelOptions& options);

// Returns the module with the model's current parameters and buffers in the format of torch.jit.save, or nullopt for a
// built-in model.
Result<std::optional<std::string>> SerializeScriptModel(const Model& model);

}  // namespace espalier::trainer
