#include "services/format/source/numpy_chunks.h"

#include "services/format/source/npy_file.h"

namespace espalier::format {
namespace {

Status CheckRows(const ChunkedArray& array, const ChunkedRows& rows, size_t chunk, uint64_t found) {
  const std::optional<uint64_t> expected = GetExpectedRowCount(array, rows, chunk);
  if (!expected || *expected == found) return {};
  return InvalidArgument(array.files[chunk] + " has " + std::to_string(found) + " rows: expected " +
                         std::to_string(*expected));
}

// Reads a chunk. Checks its number of rows, and that its dtype and row shape are those of `first`, if given.
Result<Tensor> ReadNumpyChunk(const ChunkedArray& array, const ChunkedRows& rows, size_t chunk,
                              const ChunkReading& reading, const std::optional<Tensor>& first) {
  ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(PathTo(reading, array.files[chunk])));
  if (tensor.shape().empty()) return InvalidArgument(array.files[chunk] + " is a scalar: expected rows");
  RETURN_IF_ERROR(CheckRows(array, rows, chunk, static_cast<uint64_t>(tensor.num_rows())));
  if (first && (first->dtype() != tensor.dtype() || RowShape(*first) != RowShape(tensor))) {
    if (chunk == 0) {
      return Aborted(array.files[0] + " was " + first->ToString() + " and now is " + tensor.ToString() +
                     ": it changes while it is read");
    }
    return InvalidArgument(array.files[chunk] + " is " + tensor.ToString() + ", but " + array.files[0] + " is " +
                           first->ToString() + ": expected chunks of one dtype and width");
  }
  return tensor;
}

}  // namespace

std::optional<uint64_t> GetExpectedRowCount(const ChunkedArray& array, const ChunkedRows& rows, size_t chunk) {
  if (rows.per_chunk.size() != array.files.size()) return std::nullopt;
  return rows.per_chunk[chunk];
}

Status CheckTotal(const ChunkedArray& array, const ChunkedRows& rows, uint64_t found) {
  if (found == rows.count) return {};
  return InvalidArgument("the chunks (" + std::to_string(array.files.size()) + " files) have " + std::to_string(found) +
                         " rows: expected " + std::to_string(rows.count));
}

std::string PathTo(const ChunkReading& reading, const std::string& file) { return reading.directory + "/" + file; }

std::vector<int64_t> RowShape(const Tensor& tensor) { return {tensor.shape().begin() + 1, tensor.shape().end()}; }

Status ForEachNumpyChunk(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading,
                         const std::function<Status(size_t chunk, const Tensor& tensor)>& body,
                         const std::optional<Tensor>& like) {
  std::optional<Tensor> first = like;
  std::vector<int64_t> num_rows;  // by chunk
  uint64_t total = 0;
  for (size_t chunk = 0; chunk < array.files.size(); ++chunk) {
    ASSIGN_OR_RETURN(const Tensor tensor, ReadNumpyChunk(array, rows, chunk, reading, first));
    num_rows.push_back(tensor.num_rows());
    total += static_cast<uint64_t>(tensor.num_rows());
    if (!first) first = tensor;
  }
  RETURN_IF_ERROR(CheckTotal(array, rows, total));
  for (size_t chunk = 0; chunk < array.files.size(); ++chunk) {
    const Result<Tensor> again = ReadNumpyChunk(array, rows, chunk, reading, first);
    if (again.status().code() == StatusCode::kInvalidArgument) {  // the first pass has accepted the chunk
      return Aborted(again.status().message() + ": it changes while it is read");
    }
    ASSIGN_OR_RETURN(const Tensor tensor, again);
    // The body may have allocated memory for exactly the rows that the first pass counted.
    if (tensor.num_rows() != num_rows[chunk]) {
      return Aborted(array.files[chunk] + " had " + std::to_string(num_rows[chunk]) + " rows and now has " +
                     std::to_string(tensor.num_rows()) + ": it changes while it is read");
    }
    RETURN_IF_ERROR(body(chunk, tensor));
  }
  return {};
}

}  // namespace espalier::format
