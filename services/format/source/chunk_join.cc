#include "services/format/source/chunk_join.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/format/source/csv_table.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/numpy_chunks.h"
#include "services/graph/id_values.h"

namespace espalier::format {
namespace {

// The chunks' rows behind each other in one array of `like`'s dtype and row shape.
class Joined {
 public:
  Status Allocate(const Tensor& like, uint64_t num_rows) {
    std::vector<int64_t> shape = like.shape();
    shape[0] = static_cast<int64_t>(num_rows);
    RETURN_IF_ERROR(CheckedElementCount(shape, SizeOf(like.dtype())).status());
    all_ = Tensor::Zeros(like.dtype(), std::move(shape));
    return {};
  }
  void Append(const Tensor& chunk) {
    if (chunk.size_bytes() > 0) std::memcpy(all_.mutable_bytes() + used_bytes_, chunk.bytes(), chunk.size_bytes());
    used_bytes_ += chunk.size_bytes();
  }
  Tensor Take() && { return std::move(all_); }

 private:
  Tensor all_;
  size_t used_bytes_ = 0;
};

Result<Tensor> ReadNumpyColumn(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading) {
  Joined joined;
  Tensor only;
  const Status read = ForEachNumpyChunk(array, rows, reading, [&](size_t chunk, const Tensor& tensor) -> Status {
    only = tensor;
    if (array.files.size() == 1) return {};
    if (chunk == 0) RETURN_IF_ERROR(joined.Allocate(tensor, rows.count));
    joined.Append(tensor);
    return {};
  });
  RETURN_IF_ERROR(read);
  return array.files.size() == 1 ? std::move(only) : std::move(joined).Take();
}

// Integers as the floats that other chunks of the column are.
Tensor AsFloats(const Tensor& integers) {
  std::vector<float> floats;
  floats.reserve(static_cast<size_t>(integers.num_elements()));
  for (const int64_t value : integers.values<int64_t>()) floats.push_back(static_cast<float>(value));
  return Tensor::FromVector(std::move(floats), integers.shape());
}

// Joins the chunks, each of which is let go of once it is copied.
Result<Tensor> Join(std::vector<Tensor> chunks, uint64_t num_rows) {
  if (chunks.size() == 1) return std::move(chunks.front());
  Joined joined;
  RETURN_IF_ERROR(joined.Allocate(chunks.front(), num_rows));
  for (Tensor& chunk : chunks) joined.Append(std::exchange(chunk, Tensor()));
  return std::move(joined).Take();
}

Result<Tensor> ReadCsvColumn(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading) {
  CsvOptions options{.numbers = CsvNumbers::kInferred, .shape = CsvShape::kSqueeze, .delimiter = array.delimiter};
  std::vector<Tensor> chunks;
  uint64_t total = 0;
  for (size_t chunk = 0; chunk < array.files.size(); ++chunk) {
    options.num_rows = RowsOfChunk(array, rows, chunk);
    ASSIGN_OR_RETURN(Tensor tensor,
                     ReadCsvTable(PathOf(reading, array.files[chunk]), options, {.threads = reading.threads}));
    if (tensor.num_rows() == 0) continue;  // says nothing about width and numbers
    total += static_cast<uint64_t>(tensor.num_rows());
    if (!chunks.empty() && RowShape(chunks.front()) != RowShape(tensor)) {
      return InvalidArgument(array.files[chunk] + " is " + tensor.ToString() + ", the chunks before are " +
                             chunks.front().ToString() + ": expected as many numbers a line");
    }
    chunks.push_back(std::move(tensor));
  }
  RETURN_IF_ERROR(CheckTotal(array, rows, total));
  if (chunks.empty()) return Tensor::Zeros(DType::kF32, {0});
  const bool floats =
      std::any_of(chunks.begin(), chunks.end(), [](const Tensor& c) { return c.dtype() == DType::kF32; });
  for (Tensor& chunk : chunks) {
    if (floats && chunk.dtype() == DType::kI64) chunk = AsFloats(chunk);
  }
  return Join(std::move(chunks), total);
}

Status CheckEnd(uint64_t id, uint64_t limit, const char* what, const std::string& file, size_t row) {
  if (id < limit) return {};
  return OutOfRange(file + ", row " + std::to_string(row) + ": the " + what + " is " +
                    std::to_string(static_cast<int64_t>(id)) + ": expected 0 to " +
                    (limit == 0 ? "nothing (there are none)" : std::to_string(limit - 1)));
}

// Pairs -> two arrays.
template <class T>
struct SplitEnds {
  std::vector<T> sources, destinations;

  Status Append(std::span<const T> pairs, const EdgeEndLimits& limits, const std::string& file) {
    for (size_t row = 0; row < pairs.size() / 2; ++row) {
      // A negative id becomes huge.
      const auto source = static_cast<uint64_t>(static_cast<int64_t>(pairs[2 * row]));
      const auto destination = static_cast<uint64_t>(static_cast<int64_t>(pairs[2 * row + 1]));
      RETURN_IF_ERROR(CheckEnd(source, limits.num_sources, "source", file, row));
      RETURN_IF_ERROR(CheckEnd(destination, limits.num_destinations, "destination", file, row));
      sources.push_back(pairs[2 * row]);
      destinations.push_back(pairs[2 * row + 1]);
    }
    return {};
  }
};

template <class T>
Result<graph::EdgeSet> ReadNumpyEdgesAs(const ChunkedArray& array, const ChunkedRows& rows, const EdgeEndLimits& limits,
                                        const ChunkReading& reading) {
  SplitEnds<T> ends;
  RETURN_IF_ERROR(ForEachNumpyChunk(array, rows, reading, [&](size_t chunk, const Tensor& tensor) -> Status {
    if (chunk == 0) {
      ends.sources.reserve(rows.count);  // as many as there are: the chunks have been counted
      ends.destinations.reserve(rows.count);
    }
    return ends.Append(tensor.values<T>(), limits, array.files[chunk]);
  }));
  return graph::EdgeSet{.sources = Tensor::FromVector(std::move(ends.sources)),
                        .destinations = Tensor::FromVector(std::move(ends.destinations))};
}

Result<graph::EdgeSet> ReadNumpyEdges(const ChunkedArray& array, const ChunkedRows& rows, const EdgeEndLimits& limits,
                                      const ChunkReading& reading) {
  ASSIGN_OR_RETURN(const Tensor first, ReadNpy(PathOf(reading, array.files[0])));
  if (!graph::IsIdDType(first.dtype()) || first.shape().size() != 2 || first.shape()[1] != 2) {
    return InvalidArgument(array.files[0] + " is " + first.ToString() +
                           ": expected [edges, 2] of I32, I64, U32 or U64, a source and a destination a row");
  }
  return graph::VisitIds(first, [&](auto ids) {
    return ReadNumpyEdgesAs<typename decltype(ids)::value_type>(array, rows, limits, reading);
  });
}

Result<graph::EdgeSet> ReadCsvEdgeChunks(const ChunkedArray& array, const ChunkedRows& rows,
                                         const EdgeEndLimits& limits, const ChunkReading& reading) {
  CsvEdgeLimits of_chunk{.num_sources = limits.num_sources,
                         .num_destinations = limits.num_destinations,
                         .num_edges = std::nullopt,
                         .delimiter = array.delimiter};
  std::vector<Tensor> sources, destinations;
  uint64_t total = 0;
  for (size_t chunk = 0; chunk < array.files.size(); ++chunk) {
    of_chunk.num_edges = RowsOfChunk(array, rows, chunk);
    ASSIGN_OR_RETURN(CsvEdges edges,
                     ReadCsvEdges(PathOf(reading, array.files[chunk]), of_chunk, {.threads = reading.threads}));
    total += static_cast<uint64_t>(edges.sources.num_rows());
    sources.push_back(std::move(edges.sources));
    destinations.push_back(std::move(edges.destinations));
  }
  RETURN_IF_ERROR(CheckTotal(array, rows, total));
  graph::EdgeSet all;
  ASSIGN_OR_RETURN(all.sources, Join(std::move(sources), total));
  ASSIGN_OR_RETURN(all.destinations, Join(std::move(destinations), total));
  return all;
}

Status CheckFiles(const ChunkedArray& array, const ChunkedRows& rows) {
  if (!array.files.empty()) return {};
  return InvalidArgument("'data' names no files: expected " + std::to_string(rows.count) + " rows");
}

}  // namespace

Result<Tensor> ReadChunkedColumn(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading) {
  RETURN_IF_ERROR(CheckFiles(array, rows).While(array.where));
  switch (array.format) {
    case ChunkFormat::kCsv: return ReadCsvColumn(array, rows, reading).While(array.where);
    case ChunkFormat::kNumpy: return ReadNumpyColumn(array, rows, reading).While(array.where);
  }
  return Internal("chunk format " + std::to_string(static_cast<int>(array.format)));
}

Result<graph::EdgeSet> ReadChunkedEdges(const ChunkedArray& array, const ChunkedRows& rows, const EdgeEndLimits& limits,
                                        const ChunkReading& reading) {
  RETURN_IF_ERROR(CheckFiles(array, rows).While(array.where));
  switch (array.format) {
    case ChunkFormat::kCsv: return ReadCsvEdgeChunks(array, rows, limits, reading).While(array.where);
    case ChunkFormat::kNumpy: return ReadNumpyEdges(array, rows, limits, reading).While(array.where);
  }
  return Internal("chunk format " + std::to_string(static_cast<int>(array.format)));
}

}  // namespace espalier::format
