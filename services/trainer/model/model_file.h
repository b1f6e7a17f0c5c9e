// A model file as a starting point: spec.training.model.uri.
#pragma once

#include <string>

#include "services/format/safetensors.h"
#include "services/storage/open_store.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

struct ModelFile {
  std::string where;  // for messages
  format::Safetensors content;
};

// `file.prefix` is the file's key (storage::LocateFile). InvalidArgument where it is not a model file of ours ("format"
// in its metadata).
Result<ModelFile> ReadModelFile(const storage::StoreLocation& file);

// How many outputs the model has, from its metadata.
Result<int64_t> ReadNumOutputs(const ModelFile& file);

// How many outputs its head for edges has; InvalidArgument where the model was made for another task.
Result<int64_t> ReadNumEdgeOutputs(const ModelFile& file);

// Copies the file's parameters and buffers into the model. InvalidArgument names the field of the document that does
// not fit the file's metadata (`expected`: ModelMetadata of the run), or the tensor that does not fit the model.
Status LoadModelFile(const ModelFile& file, const std::map<std::string, std::string>& expected, Model& model);

}  // namespace espalier::trainer
