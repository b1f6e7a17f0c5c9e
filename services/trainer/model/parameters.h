// A model's parameters and buffers by name: to files, from files, and as one digest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/trainer/model/model.h"
#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

// Trainable parameters, sorted by name.
NamedTensors GetParameters(const Model& model);
// Running statistics and the like, sorted by name.
NamedTensors GetBuffers(const Model& model);
// Parameters and buffers (running statistics), sorted by name: what a model file holds.
NamedTensors GetState(const Model& model);

// Copies values in, by name. InvalidArgument where a name, dtype or shape does not fit; then nothing has changed.
Status LoadState(Model& model, const NamedTensors& state);

// SHA-256 over (name, dtype, shape, bytes) of GetState(model), in order: 64 hexadecimal digits.
std::string ParametersDigest(const Model& model);

// The same bytes as the other library's tensor. The dtype must have a counterpart (checked): all but U16, U32, U64.
Tensor FromTorch(const torch::Tensor& tensor);  // a copy where not contiguous, else shares memory
torch::Tensor ToTorch(const Tensor& tensor);    // shares memory, read-only by convention

// Between a model and a model file's tensors (format/safetensors.h). InvalidArgument names a tensor whose dtype
// torch does not have.
std::map<std::string, Tensor> ToTensors(const NamedTensors& state);
Result<NamedTensors> ToNamedTensors(const std::map<std::string, Tensor>& tensors);

}  // namespace espalier::trainer
