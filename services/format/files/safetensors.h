// Reads and writes safetensors files (github.com/huggingface/safetensors): 8 bytes with the length of the header, a
// JSON header, and the bytes of the tensors without gaps. WriteSafetensors starts the data at a multiple of 64 bytes
// and orders tensors by descending element size, so that all tensors of a mapped file are aligned.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "services/base/tensor.h"
#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr size_t kSafetensorsLengthBytes = 8;  // size of the field with the header's length

struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Writes the header and the tensors; does not commit the object. Deterministic: equal content yields equal bytes.
// Returns InvalidArgument if a tensor is named "__metadata__", or if a tensor's name or the metadata is not UTF-8.
Status WriteSafetensors(const Safetensors& content, storage::ObjectWriter& writer);

// Parses a whole untrusted file. The tensors point into `bytes`, which `owner` keeps alive. Returns InvalidArgument for
// a file that foreign_file.h recognizes as another format, and DataLoss for an invalid header and for data that is not
// aligned to its element size; the caller adds the name of the file.
Result<Safetensors> ReadSafetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// Returns the metadata of an object in a store. Reads only the header, and checks that it describes exactly the bytes
// of the object. Returns DataLoss for an invalid header, and NotFound if the object does not exist.
Result<std::map<std::string, std::string>> ReadSafetensorsMetadata(storage::ObjectStore& store, const std::string& key);

}  // namespace espalier::format
