// A trained model as TorchScript: for Python and C++ programs that have torch and nothing of ours. The archive's
// parameters and buffers have the names of the model's own.
//
//   forward(x: Tensor, blocks: List[Tuple[Tensor, Tensor]]) -> Tensor
//     x       f32 [N, F]  features of the nodes that the first layer reads, the columns in the document's order
//     blocks  for each layer (indptr i64 [S + 1], indices i64 [E]): row s of the layer's output is made of row s of its
//             input and of rows indices[indptr[s] : indptr[s + 1]], its in-neighbours. A layer's input is the output of
//             the layer before. One block over a whole graph may serve all layers.
//     result  f32 [S of the last layer, C]: logits, or values
// Without dropout, batch normalisation with the running statistics. A user's module is written as it is, with the
// trained parameters: its forward stays what script_model.h says.
#pragma once

#include <string>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Unimplemented, with the reason, for models of ours that cannot be said so: R-GCN, GCN (which reads the degrees of the
// whole graph), and any over several node types or over nodes without features.
Status CheckTorchScript(const ModelOptions& options);

// The archive's bytes. Errors: CheckTorchScript's.
Result<std::string> MakeTorchScript(const Model& model, const ModelOptions& options);

}  // namespace espalier::trainer
