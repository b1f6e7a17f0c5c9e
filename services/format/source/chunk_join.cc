// The readers append the rows of one chunk after the other to a joined array (JoinedArray). NumPy chunks are mapped;
// all are checked and their rows counted before the first one is copied. CSV chunks are parsed. The dtype of a CSV
// column is known only after the last chunk: with a scratch folder, its chunks are read twice. Without a scratch
// folder, the parsed CSV chunks of columns and edges are kept in memory and joined after the last chunk.
#include "services/format/source/chunk_join.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/base/pluralize.h"
#include "services/format/source/csv_table.h"
#include "services/format/source/edge_index.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/numpy_chunks.h"
#include "services/format/source/scratch_file.h"
#include "services/graph/id_values.h"

namespace espalier::format {
namespace {

// Joins the rows of chunks into one array, in memory or in a file. Allocate must be called first: it sets the dtype and
// row shape, which are those of `like`.
class JoinedArray {
 public:
  explicit JoinedArray(std::string scratch_folder) : scratch_folder_(std::move(scratch_folder)) {}

  Status Allocate(const Tensor& like, uint64_t num_rows) {
    dtype_ = like.dtype();
    shape_ = like.shape();
    shape_[0] = static_cast<int64_t>(num_rows);
    RETURN_IF_ERROR(CheckedElementCount(shape_, ItemSize(dtype_)).status());
    if (scratch_folder_.empty()) {
      all_ = Tensor::Zeros(dtype_, shape_);
      return {};
    }
    ASSIGN_OR_RETURN(ScratchFile file, ScratchFile::Make(scratch_folder_));
    file_.emplace(std::move(file));
    return {};
  }
  // Appends rows. Returns Aborted if they exceed the allocated memory; a file grows instead.
  Status Append(std::span<const std::byte> rows) {
    if (file_) return file_->Append(rows);
    if (rows.size() > all_.size_bytes() - used_bytes_)
      return Aborted("more rows than were counted: a chunk changes while it is read");
    if (!rows.empty()) std::memcpy(all_.mutable_bytes() + used_bytes_, rows.data(), rows.size());
    used_bytes_ += rows.size();
    return {};
  }
  Result<Tensor> Take() && {
    if (file_) return std::move(*file_).Map(dtype_, std::move(shape_));
    return std::move(all_);
  }

 private:
  const std::string scratch_folder_;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_;
  Tensor all_;
  std::optional<ScratchFile> file_;
  size_t used_bytes_ = 0;
};

Result<Tensor> ReadNumpyColumn(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading) {
  JoinedArray joined(reading.scratch_folder);
  Tensor only;
  const Status read = ForEachNumpyChunk(array, rows, reading, [&](size_t chunk, const Tensor& tensor) -> Status {
    only = tensor;
    if (array.files.size() == 1) return {};
    if (chunk == 0) RETURN_IF_ERROR(joined.Allocate(tensor, rows.count));
    return joined.Append(tensor.byte_span());
  });
  RETURN_IF_ERROR(read);
  if (array.files.size() == 1) return only;
  return std::move(joined).Take();
}

// Converts I64 to F32, because another chunk of the column has floats.
Tensor AsFloats(const Tensor& integers) {
  std::vector<float> floats;
  floats.reserve(static_cast<size_t>(integers.num_elements()));
  for (const int64_t value : integers.values<int64_t>()) floats.push_back(static_cast<float>(value));
  return Tensor::FromVector(std::move(floats), integers.shape());
}

// Joins the chunks. Frees each chunk after it is copied.
Result<Tensor> Join(std::vector<Tensor> chunks, uint64_t num_rows) {
  if (chunks.size() == 1) return std::move(chunks.front());
  JoinedArray joined(/*scratch_folder=*/"");
  RETURN_IF_ERROR(joined.Allocate(chunks.front(), num_rows));
  for (Tensor& chunk : chunks) RETURN_IF_ERROR(joined.Append(std::exchange(chunk, Tensor()).byte_span()));
  return std::move(joined).Take();
}

// Checks that all chunks of a CSV column have the same number of values per line. Is called for chunks with rows only.
class WidthChecker {
 public:
  Status CheckNext(const std::string& file, const Tensor& chunk) {
    const int64_t width = chunk.shape().size() == 1 ? 1 : chunk.shape()[1];
    if (!first_width_) {
      first_file_ = file;
      first_width_ = width;
    }
    if (width == *first_width_) return {};
    return InvalidArgument(file + " has " + CountText(width) + " per line, but " + first_file_ + " has " +
                           CountText(*first_width_) + ": expected the same number in all chunks");
  }

 private:
  static std::string CountText(int64_t width) { return Pluralize(static_cast<uint64_t>(width), "value"); }

  std::string first_file_;  // the first chunk with rows
  std::optional<int64_t> first_width_;
};

enum class MissingValues { kRefused, kAllowed };

// Calls body(file, tensor) for each chunk that has rows. Skips empty chunks, whose width and dtype are unknown.
Status ForEachCsvChunk(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading,
                       MissingValues missing,
                       const std::function<Status(const std::string& file, Tensor tensor)>& body) {
  CsvOptions options{.numbers = CsvNumbers::kInferred,
                     .shape = CsvShape::kSqueeze,
                     .delimiter = array.delimiter,
                     .may_lack_values = missing == MissingValues::kAllowed};
  for (size_t chunk = 0; chunk < array.files.size(); ++chunk) {
    options.num_rows = GetExpectedRowCount(array, rows, chunk);
    ASSIGN_OR_RETURN(Tensor tensor,
                     ReadCsvTable(PathTo(reading, array.files[chunk]), options, {.threads = reading.threads}));
    if (tensor.num_rows() > 0) RETURN_IF_ERROR(body(array.files[chunk], std::move(tensor)));
  }
  return {};
}

// Reads the chunks twice, because the dtype is known only after all numbers have been read once.
Result<Tensor> ReadCsvColumnToFile(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading,
                                   MissingValues missing) {
  std::optional<Tensor> first;  // dtype and row shape of the first chunk; has no rows
  uint64_t total = 0;
  bool floats = false;
  WidthChecker widths;
  const auto count = [&](const std::string& file, Tensor tensor) -> Status {
    total += static_cast<uint64_t>(tensor.num_rows());
    floats = floats || tensor.dtype() == DType::kF32;
    RETURN_IF_ERROR(widths.CheckNext(file, tensor));
    if (first) return {};
    std::vector<int64_t> shape = tensor.shape();
    shape[0] = 0;
    first = Tensor::Zeros(tensor.dtype(), std::move(shape));
    return {};
  };
  RETURN_IF_ERROR(ForEachCsvChunk(array, rows, reading, missing, count));
  RETURN_IF_ERROR(CheckTotal(array, rows, total));
  if (!first) return Tensor::Zeros(DType::kF32, {0});
  JoinedArray joined(reading.scratch_folder);
  RETURN_IF_ERROR(joined.Allocate(Tensor::Zeros(floats ? DType::kF32 : DType::kI64, first->shape()), total));
  const auto append = [&](const std::string& file, const Tensor& tensor) -> Status {
    if (!floats && tensor.dtype() == DType::kF32) return Aborted(file + " changes while it is read");
    return joined.Append((floats && tensor.dtype() == DType::kI64 ? AsFloats(tensor) : tensor).byte_span());
  };
  RETURN_IF_ERROR(ForEachCsvChunk(array, rows, reading, missing, append));
  return std::move(joined).Take();
}

Result<Tensor> ReadCsvColumn(const ChunkedArray& array, const ChunkedRows& rows, const ChunkReading& reading,
                             MissingValues missing) {
  if (!reading.scratch_folder.empty()) return ReadCsvColumnToFile(array, rows, reading, missing);
  std::vector<Tensor> chunks;
  uint64_t total = 0;
  WidthChecker widths;
  const auto take = [&](const std::string& file, Tensor tensor) -> Status {
    total += static_cast<uint64_t>(tensor.num_rows());
    RETURN_IF_ERROR(widths.CheckNext(file, tensor));
    chunks.push_back(std::move(tensor));
    return {};
  };
  RETURN_IF_ERROR(ForEachCsvChunk(array, rows, reading, missing, take));
  RETURN_IF_ERROR(CheckTotal(array, rows, total));
  if (chunks.empty()) return Tensor::Zeros(DType::kF32, {0});
  const bool floats =
      std::any_of(chunks.begin(), chunks.end(), [](const Tensor& c) { return c.dtype() == DType::kF32; });
  for (Tensor& chunk : chunks) {
    if (floats && chunk.dtype() == DType::kI64) chunk = AsFloats(chunk);
  }
  return Join(std::move(chunks), total);
}

template <class T>
Status CheckEnd(T id, uint64_t limit, const char* what, const std::string& file, size_t row) {
  if (std::cmp_greater_equal(id, 0) && std::cmp_less(id, limit)) return {};
  return OutOfRange(file + ", row " + std::to_string(row) + ": the " + what + " is " + std::to_string(id) + ": " +
                    graph::DescribeIdRange(limit));
}

// Splits pairs into an array of sources and an array of destinations, and checks the ids.
template <class T>
struct SplitEnds {
  std::vector<T> sources, destinations;

  Status Append(std::span<const T> pairs, const EdgeEndLimits& limits, const std::string& file) {
    sources.reserve(pairs.size() / 2);
    destinations.reserve(pairs.size() / 2);
    for (size_t row = 0; row < pairs.size() / 2; ++row) {
      RETURN_IF_ERROR(CheckEnd(pairs[2 * row], limits.num_sources, "source", file, row));
      RETURN_IF_ERROR(CheckEnd(pairs[2 * row + 1], limits.num_destinations, "destination", file, row));
      sources.push_back(pairs[2 * row]);
      destinations.push_back(pairs[2 * row + 1]);
    }
    return {};
  }
};

// Reads edges with ids of type T. `first` is the first chunk, [k, 2].
template <class T>
Result<graph::EdgeSet> ReadNumpyEdgesAs(const Tensor& first, const ChunkedArray& array, const ChunkedRows& rows,
                                        const EdgeEndLimits& limits, const ChunkReading& reading) {
  JoinedArray sources(reading.scratch_folder), destinations(reading.scratch_folder);
  const auto split = [&](size_t chunk, const Tensor& tensor) -> Status {
    if (chunk == 0) {  // the rows of all chunks have been counted by now
      const Tensor like = Tensor::Zeros(DTypeOf<T>::value, {0});
      RETURN_IF_ERROR(sources.Allocate(like, rows.count));
      RETURN_IF_ERROR(destinations.Allocate(like, rows.count));
    }
    SplitEnds<T> ends;
    RETURN_IF_ERROR(ends.Append(tensor.values<T>(), limits, array.files[chunk]));
    RETURN_IF_ERROR(sources.Append(std::as_bytes(std::span(ends.sources))));
    return destinations.Append(std::as_bytes(std::span(ends.destinations)));
  };
  RETURN_IF_ERROR(ForEachNumpyChunk(array, rows, reading, split, first));
  graph::EdgeSet all;
  ASSIGN_OR_RETURN(all.sources, std::move(sources).Take());
  ASSIGN_OR_RETURN(all.destinations, std::move(destinations).Take());
  return all;
}

Result<graph::EdgeSet> ReadNumpyEdges(const ChunkedArray& array, const ChunkedRows& rows, const EdgeEndLimits& limits,
                                      const ChunkReading& reading) {
  ASSIGN_OR_RETURN(const Tensor first, ReadNpy(PathTo(reading, array.files[0])));
  // If all chunks are empty, any shape and dtype is valid: numpy.array([]) is F64 [0].
  if (rows.count == 0 && first.num_elements() == 0) {
    bool all_are_empty = true;
    for (size_t i = 1; i < array.files.size() && all_are_empty; ++i) {
      ASSIGN_OR_RETURN(const Tensor chunk, ReadNpy(PathTo(reading, array.files[i])));
      all_are_empty = chunk.num_elements() == 0;
    }
    if (all_are_empty) return NoEdges();
  }
  if (!graph::IsIdDType(first.dtype()) || first.shape().size() != 2 || first.shape()[1] != 2) {
    return InvalidArgument(array.files[0] + " is " + first.ToString() +
                           ": expected [edges, 2] of I32, I64, U32 or U64, a source and a destination per row");
  }
  return graph::VisitIds(first, [&](auto ids) {
    return ReadNumpyEdgesAs<typename decltype(ids)::value_type>(first, array, rows, limits, reading);
  });
}

Result<graph::EdgeSet> ReadCsvEdgeChunks(const ChunkedArray& array, const ChunkedRows& rows,
                                         const EdgeEndLimits& limits, const ChunkReading& reading) {
  CsvEdgeLimits of_chunk{.num_sources = limits.num_sources,
                         .num_destinations = limits.num_destinations,
                         .num_edges = std::nullopt,
                         .delimiter = array.delimiter};
  const bool in_files = !reading.scratch_folder.empty();
  JoinedArray joined_sources(reading.scratch_folder), joined_destinations(reading.scratch_folder);
  std::vector<Tensor> sources, destinations;
  uint64_t total = 0;
  for (size_t chunk = 0; chunk < array.files.size(); ++chunk) {
    of_chunk.num_edges = GetExpectedRowCount(array, rows, chunk);
    ASSIGN_OR_RETURN(CsvEdges edges,
                     ReadCsvEdges(PathTo(reading, array.files[chunk]), of_chunk, {.threads = reading.threads}));
    total += static_cast<uint64_t>(edges.sources.num_rows());
    if (!in_files) {
      sources.push_back(std::move(edges.sources));
      destinations.push_back(std::move(edges.destinations));
      continue;
    }
    if (chunk == 0) {  // all chunks have the same dtype
      RETURN_IF_ERROR(joined_sources.Allocate(edges.sources, rows.count));
      RETURN_IF_ERROR(joined_destinations.Allocate(edges.destinations, rows.count));
    }
    RETURN_IF_ERROR(joined_sources.Append(edges.sources.byte_span()));
    RETURN_IF_ERROR(joined_destinations.Append(edges.destinations.byte_span()));
  }
  RETURN_IF_ERROR(CheckTotal(array, rows, total));
  graph::EdgeSet all;
  if (in_files) {
    ASSIGN_OR_RETURN(all.sources, std::move(joined_sources).Take());
    ASSIGN_OR_RETURN(all.destinations, std::move(joined_destinations).Take());
    return all;
  }
  ASSIGN_OR_RETURN(all.sources, Join(std::move(sources), total));
  ASSIGN_OR_RETURN(all.destinations, Join(std::move(destinations), total));
  return all;
}

Status CheckFiles(const ChunkedArray& array, const ChunkedRows& rows) {
  if (!array.files.empty() || rows.count == 0) return {};
  return InvalidArgument("'data' lists no files: expected " + std::to_string(rows.count) + " rows");
}

}  // namespace

Result<Tensor> ReadChunkedColumn(const std::string& name, const ChunkedArray& array, const ChunkedRows& rows,
                                 const ChunkReading& reading) {
  RETURN_IF_ERROR(CheckFiles(array, rows).While(array.where));
  if (array.files.empty()) return Tensor::Zeros(DType::kF32, {0});
  const MissingValues missing = reading.labels.MayLackValues(name) ? MissingValues::kAllowed : MissingValues::kRefused;
  switch (array.format) {
    case ChunkFormat::kCsv: return ReadCsvColumn(array, rows, reading, missing).While(array.where);
    case ChunkFormat::kNumpy: return ReadNumpyColumn(array, rows, reading).While(array.where);
  }
  return Internal("chunk format " + std::to_string(static_cast<int>(array.format)));
}

Result<graph::EdgeSet> ReadChunkedEdges(const ChunkedArray& array, const ChunkedRows& rows, const EdgeEndLimits& limits,
                                        const ChunkReading& reading) {
  RETURN_IF_ERROR(CheckFiles(array, rows).While(array.where));
  if (array.files.empty()) return NoEdges();
  switch (array.format) {
    case ChunkFormat::kCsv: return ReadCsvEdgeChunks(array, rows, limits, reading).While(array.where);
    case ChunkFormat::kNumpy: return ReadNumpyEdges(array, rows, limits, reading).While(array.where);
  }
  return Internal("chunk format " + std::to_string(static_cast<int>(array.format)));
}

}  // namespace espalier::format
