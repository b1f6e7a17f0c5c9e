// A model's parameters and buffers by name, their conversion to and from the tensors of files, and their digest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/trainer/model/model.h"
#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

// Returns the trainable parameters, sorted by name.
NamedTensors GetParameters(const Model& model);
// Returns the buffers, such as running statistics, sorted by name.
NamedTensors GetBuffers(const Model& model);
// Returns parameters and buffers, sorted by name: the content of a model file.
NamedTensors GetState(const Model& model);

// Returns a copy of the tensor in the host's memory, without gradients.
torch::Tensor CopyToHost(const torch::Tensor& tensor);

// Copies the values of `state`, which may be on any device, into the model's tensors of the same names.
// InvalidArgument: a name, dtype or shape does not match; the model is then unchanged.
Status LoadState(Model& model, const NamedTensors& state);

// Returns the SHA-256 over (name, dtype, shape, bytes) of all parameters and buffers in the order of GetState: 64
// hexadecimal digits.
std::string DigestParameters(const Model& model);

// Convert between torch's tensors and Espalier's. The dtype must be one of Espalier's dtypes except U16, U32 and U64
// (checked). The result shares the argument's memory, but FromTorch copies a tensor that is not contiguous or not on
// the CPU. The caller must not write to the result of ToTorch.
Tensor FromTorch(const torch::Tensor& tensor);
torch::Tensor ToTorch(const Tensor& tensor);

// Convert between the state of a model and the tensors of a model file (format/files/safetensors.h). ToNamedTensors
// returns InvalidArgument if a tensor has dtype U16, U32 or U64.
std::map<std::string, Tensor> ToTensors(const NamedTensors& state);
Result<NamedTensors> ToNamedTensors(const std::map<std::string, Tensor>& tensors);

}  // namespace espalier::trainer
