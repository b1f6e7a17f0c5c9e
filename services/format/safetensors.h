// safetensors files (github.com/huggingface/safetensors): 8 bytes of header length, a JSON header, the tensors' bytes
// without holes. Ours also start their data at a multiple of 64 and hold tensors by falling element size, so that a
// mapped file's tensors are aligned.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "services/base/tensor.h"
#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr size_t kSafetensorsLengthBytes = 8;  // before the header: its length, little-endian

struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Writes header and tensors in pieces; does not commit. The same tensors give the same bytes. InvalidArgument where
// a name is not UTF-8 or is "__metadata__".
Status WriteSafetensors(const Safetensors& content, storage::ObjectWriter& writer);

// The tensors of a whole file; they point into `bytes`, which `owner` keeps alive. Untrusted input: DataLoss says what
// is wrong and where (the caller adds which file). Also refused: data that is not aligned to its element size.
Result<Safetensors> ReadSafetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// The metadata of an object in a store, of which only the header is read: it must describe as many bytes as the object
// has. DataLoss as above; NotFound.
Result<std::map<std::string, std::string>> ReadSafetensorsMetadata(storage::ObjectStore& store, const std::string& key);

}  // namespace espalier::format
