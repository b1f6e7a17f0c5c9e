// Iterates over the .npy chunks of an array of DGL's chunked graphs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/chunk_join.h"

namespace espalier::format {

// Returns the number of rows that metadata.json gives for a chunk. Returns nullopt if the number of files of the array
// differs from the number of entries of num_*_per_chunk; the entries then do not apply to the chunks of this array.
std::optional<uint64_t> GetExpectedRowCount(const ChunkedArray& array, const ChunkedRows& rows, size_t chunk);
// Returns InvalidArgument unless `found`, the number of rows of all chunks together, is rows.count.
Status CheckTotal(const ChunkedArray& array, const ChunkedRows& rows, uint64_t found);

// Returns the path of `file`, a file name relative to the folder of metadata.json.
std::string PathTo(const ChunkReading& reading, const std::string& file);
// Returns the shape without the first dimension. Requires at least one dimension.
std::vector<int64_t> RowShape(const Tensor& tensor);

// Calls body(chunk, tensor) for each chunk, in order. First checks that all chunks have the same dtype and row shape,
// and the numbers of rows that metadata.json gives, so that the body can allocate memory for rows.count rows. `like`,
// if given, is the first chunk, which the caller has read before; all chunks must have its dtype and row shape. Returns
// Aborted if a file has another dtype, row shape or number of rows when it is read again. The body never gets more than
// rows.count rows.
Status ForEachNumpyChunk(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading,
                         const std::function<Status(size_t chunk, const Tensor& tensor)>& body,
                         const std::optional<Tensor>& like = std::nullopt);

}  // namespace espalier::format
