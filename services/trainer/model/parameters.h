// A model's parameters and buffers by name: conversion to and from tensors of files, and a digest.
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
// Returns the buffers (running statistics and the like), sorted by name.
NamedTensors GetBuffers(const Model& model);
// Returns parameters and buffers, sorted by name: the content of a model file.
NamedTensors GetState(const Model& model);

// Returns a copy of the tensor in the host's memory, without gradients.
torch::Tensor CopyToHost(const torch::Tensor& tensor);

// Copies the values of `state`, on any device, into the model by name. InvalidArgument: a name, dtype or shape does not
// match; the model is then unchanged.
Status LoadState(Model& model, const NamedTensors& state);

// Returns the SHA-256 over (name, dtype, shape, bytes) of GetState(model), in order: 64 hexadecimal digits.
std::string ParametersDigest(const Model& model);

// Convert between torch's tensors and Espalier's. The dtype must be one of Espalier's dtypes except U16, U32 and U64
// (checked).
Tensor FromTorch(const torch::Tensor& tensor);  // shares memory; copies if not contiguous or not on the CPU
torch::Tensor ToTorch(const Tensor& tensor);    // shares memory, which must not be written to

// Convert between the state of a model and the tensors of a model file (format/files/safetensors.h). InvalidArgument
// names a tensor of dtype U16, U32 or U64.
std::map<std::string, Tensor> ToTensors(const NamedTensors& state);
Result<NamedTensors> ToNamedTensors(const std::map<std::string, Tensor>& tensors);

}  // namespace espalier::trainer
