// Reads the model file from which a run initializes its model (spec.training.model.uri).
#pragma once

#include <string>

#include "services/format/files/safetensors.h"
#include "services/storage/open_store.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

struct ModelFile {
  std::string where;  // the file's location, for messages
  format::Safetensors content;
};

// Reads the file; `file.prefix` is its key (storage::LocateFile). InvalidArgument: it is larger than 16 GiB or not a
// model file of Espalier ("format" in its metadata).
Result<ModelFile> ReadModelFile(const storage::StoreLocation& file);

// Returns the number of the model's outputs from the metadata. InvalidArgument: the metadata does not contain it.
Result<int64_t> ReadNumOutputs(const ModelFile& file);

// Returns the number of outputs of the model's edge head. InvalidArgument: the model was made for another task.
Result<int64_t> ReadNumEdgeOutputs(const ModelFile& file);

// Copies the file's parameters and buffers into the model. `expected` is the ModelMetadata of the run. InvalidArgument
// names the field of the document that does not match the file's metadata, or the tensor that does not match the model.
Status LoadModelFile(const ModelFile& file, const std::map<std::string, std::string>& expected, Model& model);

}  // namespace espalier::trainer
