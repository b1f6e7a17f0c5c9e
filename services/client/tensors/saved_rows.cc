// Rows are written in the order of row_order.h, which does not depend on the partitioning, so that a reader with
// another partitioning can find the id of each row from its position in that order. For edges the manifest also has a
// hash of the endpoints in that order; the reader computes the hash of its graph and compares the two after the last
// file.
#include "services/client/tensors/saved_rows.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "services/base/unique_number.h"
#include "services/storage/object_key.h"

namespace espalier::client {
namespace {

// Largest number of rows per file. Files of narrow rows reach this limit before they reach bytes_per_file.
constexpr uint64_t kMaxRowsPerFile = uint64_t{1} << 22;

// Returns the number with leading zeros, at least five digits.
std::string PadNumber(size_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%05zu", number);
  return text;
}

Status DifferentGraphError(const format::SavedTensorEntry& tensor, const std::string& difference) {
  return FailedPrecondition("'" + tensor.name + "' of " + tensor.rows + " was saved for another graph: " + difference);
}

}  // namespace

SavedRowsWriter::SavedRowsWriter(storage::StoreLocation at)
    : at_(std::move(at)), folder_(format::SaveFolderName(UniqueNumber())) {}

// Errors are ignored: files that no manifest names are never read, and RemoveSavedTensors removes them.
SavedRowsWriter::~SavedRowsWriter() {
  if (may_remove_) static_cast<void>(at_.store->DeleteMany(keys_));
}

Status SavedRowsWriter::PutRows(const DistGraph& graph, const RowSpace& rows, const std::vector<Column>& columns,
                                size_t bytes_per_file) {
  uint64_t row_bytes = 0;
  std::vector<std::string> folders;
  for (const Column& column : columns) {
    row_bytes += sampler::RowBytes(column.entry->dtype, column.entry->row_shape);
    folders.push_back(folder_ + "/" + PadNumber(num_entries_++) + "-" + column.entry->name);
  }
  const uint64_t rows_per_file =
      std::clamp<uint64_t>(bytes_per_file / std::max<uint64_t>(1, row_bytes), 1, kMaxRowsPerFile);
  const uint64_t num_rows = columns.front().entry->num_rows;
  RowOrder order(graph, rows);
  uint64_t num_written = 0;
  for (size_t number = 0; num_written < num_rows; ++number) {
    ASSIGN_OR_RETURN(const std::vector<GlobalRowId> piece, order.Next(rows_per_file));
    if (piece.empty()) break;
    for (size_t i = 0; i < columns.size(); ++i) {
      ASSIGN_OR_RETURN(const Tensor values, NotFoundToUnavailable(columns[i].read(piece)));
      const std::string key = folders[i] + "/" + PadNumber(number) + ".safetensors";
      keys_.push_back(storage::JoinKey(at_.prefix, key));  // before the write: a failed write may have created the file
      ASSIGN_OR_RETURN(columns[i].entry->files.emplace_back(),
                       format::PutSavedRows(*at_.store, at_.prefix, key, values));
    }
    num_written += piece.size();
  }
  if (num_written != num_rows) {
    return Internal("RowOrder returned " + std::to_string(num_written) + " of the " + std::to_string(num_rows) +
                    " rows of '" + columns.front().entry->name + "'");
  }
  if (rows.of != sampler::RowsOf::kEdges) return Status();
  for (const Column& column : columns) column.entry->endpoint_hash = order.endpoint_hash();
  return Status();
}

Result<format::SavedTensorEntry> SavedRowsWriter::PutTensor(const DistGraph& graph, const RowSpace& rows,
                                                            const std::string& name, size_t bytes_per_file) {
  ASSIGN_OR_RETURN(const DistTensor tensor, DistTensor::Open(graph, rows, name));
  const std::vector<int64_t> shape = tensor.shape();
  format::SavedTensorEntry entry{.rows = sampler::RowsName(tensor.rows(), graph.book()),
                                 .name = name,
                                 .dtype = tensor.dtype(),
                                 .row_shape = {shape.begin() + 1, shape.end()},
                                 .num_rows = tensor.num_rows()};
  const auto read = [&](std::span<const GlobalRowId> piece) { return tensor.ReadRows(piece); };
  RETURN_IF_ERROR(PutRows(graph, tensor.rows(), {{&entry, read}}, bytes_per_file));
  return entry;
}

Result<format::SavedEmbeddingEntry> SavedRowsWriter::PutEmbedding(const DistGraph& graph,
                                                                  const sampler::EmbeddingAt& embedding,
                                                                  size_t bytes_per_file) {
  const sampler::EmbeddingSpec& spec = embedding.spec;
  RETURN_IF_ERROR(sampler::CheckRowSpace(spec.id.rows, graph.book()));
  sampler::EmbeddingStore& store = graph.partitions().embeddings();
  format::SavedEmbeddingEntry entry{
      .version = embedding.version, .optimizer = ToString(spec.optimizer.type), .values = {}, .state = {}};
  entry.values = {.rows = sampler::RowsName(spec.id.rows, graph.book()),
                  .name = spec.id.name,
                  .dtype = spec.dtype,
                  .row_shape = {int64_t{spec.width}},
                  .num_rows = graph.partitions().tensors().NumRows(spec.id.rows)};
  // The values of rows are read before their state, because only ReadEmbedding waits for the version.
  std::vector<Column> columns = {{&entry.values, [&](std::span<const GlobalRowId> rows) {
                                    return store.ReadEmbedding(spec, embedding.version, rows, graph.CallDeadline());
                                  }}};
  if (const size_t width = sampler::StateRowWidth(spec); width > 0) {
    entry.state = entry.values;
    entry.state->name = sampler::ToStateId(spec.id).name;
    entry.state->dtype = DType::kF32;
    entry.state->row_shape = {static_cast<int64_t>(width)};
    columns.push_back({&*entry.state, [&](std::span<const GlobalRowId> rows) {
                         return store.ReadState(spec, rows, graph.CallDeadline());
                       }});
  }
  RETURN_IF_ERROR(PutRows(graph, spec.id.rows, columns, bytes_per_file));
  return entry;
}

Status SavedRowsWriter::Commit(const format::SavedTensorsManifest& manifest) {
  const Status committed = format::CommitSavedTensors(*at_.store, at_.prefix, manifest);
  // After AlreadyExists (another save has committed) and InvalidArgument the manifest was not written. After any other
  // error it may have been written, and the files must stay.
  const bool is_not_written =
      committed.code() == StatusCode::kAlreadyExists || committed.code() == StatusCode::kInvalidArgument;
  may_remove_ = is_not_written;
  return committed;
}

Result<RowSpace> ParseRowSpace(const format::SavedTensorEntry& entry, const graph::GraphSchema& schema) {
  const size_t slash = entry.rows.find('/');
  const std::string of = entry.rows.substr(0, slash);
  if (of == "own" && slash == std::string::npos) return RowSpace::Own(entry.num_rows);
  if ((of != "nodes" && of != "edges") || slash == std::string::npos) {
    return InvalidArgument("'" + entry.name + "' has rows '" + entry.rows +
                           "', expected own, nodes/<type> or edges/<source>:<relation>:<destination>");
  }
  const std::string type = entry.rows.substr(slash + 1);
  if (of == "nodes") {
    const Result<NodeTypeId> found = schema.FindNodeType(type);
    if (!found.ok()) return FailedPrecondition("'" + entry.name + "': " + found.status().message());
    return RowSpace::Nodes(*found);
  }
  const Result<EdgeTypeId> found = schema.FindEdgeType(type);
  if (!found.ok()) return FailedPrecondition("'" + entry.name + "': " + found.status().message());
  return RowSpace::Edges(*found);
}

SavedRowsReader::SavedRowsReader(const DistGraph& graph, storage::StoreLocation at,
                                 std::vector<format::SavedTensorEntry> entries, const RowSpace& rows)
    : at_(std::move(at)), entries_(std::move(entries)), rows_(rows), order_(graph, rows) {}

Result<std::unique_ptr<SavedRowsReader>> SavedRowsReader::Open(const DistGraph& graph, const storage::StoreLocation& at,
                                                               std::vector<format::SavedTensorEntry> entries) {
  const format::SavedTensorEntry& first = entries.front();
  ASSIGN_OR_RETURN(const RowSpace rows, ParseRowSpace(first, graph.schema()));
  RETURN_IF_ERROR(sampler::CheckRowSpace(rows, graph.book()));
  const uint64_t num_rows = graph.partitions().tensors().NumRows(rows);
  if (num_rows != first.num_rows) {
    return DifferentGraphError(first, "the saved tensor has " + std::to_string(first.num_rows) +
                                          " rows, the loaded graph has " + std::to_string(num_rows));
  }
  return std::unique_ptr<SavedRowsReader>(new SavedRowsReader(graph, at, std::move(entries), rows));
}

Result<std::optional<SavedRowsReader::Piece>> SavedRowsReader::Next() {
  const format::SavedTensorEntry& first = entries_.front();
  if (next_file_ == first.files.size()) {
    if (num_read_ != first.num_rows) {
      return DataLoss("the files of '" + first.name + "' have " + std::to_string(num_read_) + " of its " +
                      std::to_string(first.num_rows) + " rows");
    }
    if (rows_.of == sampler::RowsOf::kEdges && first.endpoint_hash != order_.endpoint_hash()) {
      return DifferentGraphError(first, "its edges or their order differ");
    }
    return std::optional<Piece>();
  }
  Piece piece;
  for (const format::SavedTensorEntry& entry : entries_) {
    const format::FileEntry& file = entry.files[next_file_];
    ASSIGN_OR_RETURN(piece.columns.emplace_back(), format::ReadSavedRows(*at_.store, at_.prefix, file, entry));
    const int64_t num_rows = piece.columns.back().num_rows();
    if (num_rows != piece.columns.front().num_rows()) {
      return DataLoss(file.key + " has " + std::to_string(num_rows) + " rows, expected " +
                      std::to_string(piece.columns.front().num_rows()) + " as in " + first.files[next_file_].key);
    }
  }
  const auto num_rows = static_cast<uint64_t>(piece.columns.front().num_rows());
  ASSIGN_OR_RETURN(piece.rows, order_.Next(num_rows));
  if (piece.rows.size() != num_rows) {
    return DataLoss(first.files[next_file_].key + " has too many rows: '" + first.name + "' has " +
                    std::to_string(first.num_rows) + " in all");
  }
  num_read_ += num_rows;
  ++next_file_;
  return std::optional(std::move(piece));
}

}  // namespace espalier::client
