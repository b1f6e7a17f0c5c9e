// The user's own model: a TorchScript module that computes one layer at a time, so that the same module trains on
// sampled mini-batches and is applied to whole graphs layer by layer.
//
//   def forward(self, layer: int, x: Dict[str, Tensor], blocks: Dict[str, Tuple[Tensor, Tensor]],
//               num_rows: Dict[str, int]) -> Dict[str, Tensor]
//
//     layer     0 is the first, farthest from the seeds; there are as many as sampling.layers has entries
//     x         by node type: f32 [rows read, F]. Layer 0 reads the features and the learnable rows behind them
//               (F = 0 where a type has neither), the others what the layer before wrote. The rows that are written
//               come first.
//     blocks    by "source:relation:destination", of the relations that the layer draws: (indptr i64 [S + 1], indices
//               i64 [E]): the in-edges of destination row s are indices[indptr[s] : indptr[s + 1]], rows of the source
//               type's x
//     num_rows  by node type: how many rows the layer must write of it
//     result    by node type: f32 [num_rows, W] for every type with num_rows > 0; W is one number for each layer. The
//               last layer writes the task's outputs: logits, or values.
//
// All that is learnt or remembered must be in its parameters (f32) and buffers: these go into checkpoints and model
// files. Parameters that require no gradient stay as they are. A buffer that forward replaces by a tensor of its dtype
// and shape is as one that it wrote into. After a training step all buffers are rank 0's on every rank. Its training
// mode is set as PyTorch's train() and eval() do, and torch's generator is seeded before each call from (seed, epoch,
// step, layer, rank), so a run can be repeated; masks drawn from it do depend on the number of trainers. The module is
// code that runs in the trainer's process with its rights: whoever names it trusts it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "services/trainer/model/model.h"
#include "services/trainer/model/module_file.h"

namespace espalier::trainer {

// options.module must be set. InvalidArgument names what was expected where the archive cannot be read, forward has
// another signature, or a small graph with the job's types shows that it does not write what it should, or (where it
// trains) that it learns nothing. A module that does not give the same numbers twice on that graph is let through with
// a warning in the log.
Result<std::shared_ptr<Model>> MakeScriptModel(const ModelOptions& options);

// The module with the model's current parameters, as torch.jit.save writes it; nullopt for models of ours.
Result<std::optional<std::string>> ArchiveOfScriptModel(const Model& model);

}  // namespace espalier::trainer
