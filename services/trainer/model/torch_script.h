// Exports a trained model as TorchScript, for Python and C++ programs that have torch but not Espalier. The archive's
// parameters and buffers have the same names as the model's. A built-in model is exported with this interface:
//
//   forward(x: Tensor, blocks: List[Tuple[Tensor, Tensor]]) -> Tensor
//     x       f32 [N, F]: for each node that the first layer reads, its features in the order of spec.training.inputs
//     blocks  for each layer (indptr i64 [S + 1], indices i64 [E]): row s of the layer's output is computed from row s
//             of its input and from the rows indices[indptr[s] : indptr[s + 1]], its in-neighbors. A layer's input is
//             the output of the layer before. One block over a whole graph can serve all layers.
//     result  f32 [S of the last layer, C]: logits or values
// This export is for inference: it has no dropout, and batch normalization uses the running statistics. A user's module
// is saved with its trained parameters and its buffers; its `forward` is that of script_model.h.
#pragma once

#include <string>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Returns OK if a built-in model can be exported. Unimplemented, with the reason: the model is not GraphSAGE, GAT or
// GATv2 (GCN needs the degrees in the whole graph), there are several node types, the nodes have no features, or the
// model is GAT or GATv2 and there are several relations.
Status CheckTorchScript(const ModelOptions& options);

// Returns the archive's bytes. Returns the errors of CheckTorchScript for built-in models, and Internal if torch fails.
Result<std::string> MakeTorchScript(const Model& model, const ModelOptions& options);

}  // namespace espalier::trainer
