// NumPy's .npy files, version 1.0: what users open their results with.
#pragma once

#include <string>

#include "services/base/tensor.h"
#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// NumPy has no bfloat16: refuse such tensors (InvalidArgument), or store their bit patterns as unsigned 16-bit numbers.
enum class BFloat16Policy { kRefuse, kStoreBits };

// Puts the tensor under `key`, C order, little-endian. Its size and checksums come back.
Result<FileEntry> WriteNpy(storage::ObjectStore& store, const std::string& key, const Tensor& tensor,
                           BFloat16Policy bfloat16 = BFloat16Policy::kRefuse);

}  // namespace espalier::format
