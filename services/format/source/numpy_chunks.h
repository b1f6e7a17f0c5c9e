// The .npy files that an array of DGL's chunked graphs is cut into, one after another.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/source/chunk_join.h"

namespace espalier::format {

// How many rows chunk i must have, where metadata.json tells: arrays may be cut otherwise than their type.
std::optional<uint64_t> RowsOfChunk(const ChunkedArray& array, const ChunkedRows& rows, size_t chunk);
// InvalidArgument: the chunks' rows are not as many as the type has.
Status CheckTotal(const ChunkedArray& array, const ChunkedRows& rows, uint64_t found);

std::string PathTo(const ChunkReading& reading, const std::string& file);
// Without the first dimension, of which there must be one.
std::vector<int64_t> RowShape(const Tensor& tensor);

// Calls body(chunk, rows) for each chunk, in order, after all of them have been found good: of one dtype and row shape,
// with as many rows as metadata.json says, so that nothing is allocated for what is not there. `like` is the first
// chunk as the caller has seen it: the body is given this dtype and row shape. Aborted: that chunk has another one now,
// or a chunk another number of rows when its turn comes; what the body has been given never exceeds rows.count rows.
Status ForEachNumpyChunk(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading,
                         const std::function<Status(size_t chunk, const Tensor& tensor)>& body,
                         const std::optional<Tensor>& like = std::nullopt);

}  // namespace espalier::format
