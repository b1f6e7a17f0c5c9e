// Writes rows of tensors, and of embeddings with their optimizer state, to the files of a save, and reads them. Shared
// by saved_tensors.cc and saved_embeddings.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/client/dist_tensor.h"
#include "services/client/row_order.h"
#include "services/format/saved_tensors.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/storage/open_store.h"

namespace espalier::client {

// Writes the files of one save under a unique name: of two saves into one folder, one commits, and neither overwrites
// files of the other. Not thread-safe.
class SavedRowsWriter {
 public:
  explicit SavedRowsWriter(storage::StoreLocation at);
  // Deletes the files unless the save may have been committed.
  ~SavedRowsWriter();
  SavedRowsWriter(const SavedRowsWriter&) = delete;
  SavedRowsWriter& operator=(const SavedRowsWriter&) = delete;

  // Writes all rows of a tensor, in files of about `bytes_per_file`.
  Result<format::SavedTensorEntry> PutTensor(const DistGraph& graph, const RowSpace& rows, const std::string& name,
                                             size_t bytes_per_file);
  // Waits for a version of an embedding, then writes all its rows and their optimizer state.
  Result<format::SavedEmbeddingEntry> PutEmbedding(const DistGraph& graph, const sampler::EmbeddingAt& embedding,
                                                   size_t bytes_per_file);
  Status Commit(const format::SavedTensorsManifest& manifest);

 private:
  // What rows have: the values of a tensor for one. `entry` gets the files.
  struct Column {
    format::SavedTensorEntry* entry;
    std::function<Result<Tensor>(std::span<const GlobalRowId> rows)> read;
  };

  // The columns of all rows, in an order that no partitioning changes; of a piece of rows one after the other.
  Status PutRows(const DistGraph& graph, const RowSpace& rows, const std::vector<Column>& columns,
                 size_t bytes_per_file);

  const storage::StoreLocation at_;
  const std::string folder_;
  size_t num_entries_ = 0;
  std::vector<std::string> keys_;
  bool may_remove_ = true;
};

// Reads saved rows file by file, with their ids in this graph. Not thread-safe.
class SavedRowsReader {
 public:
  struct Piece {
    std::vector<GlobalRowId> rows;
    std::vector<Tensor> columns;  // [rows.size(), row shape...], one for each entry
  };

  // `entries`: at least one, all of the same rows with the same number of files. FailedPrecondition: the rows are of
  // another graph. `graph` must outlive this object.
  static Result<std::unique_ptr<SavedRowsReader>> Open(const DistGraph& graph, const storage::StoreLocation& at,
                                                       std::vector<format::SavedTensorEntry> entries);

  const RowSpace& rows() const { return rows_; }
  // Returns the rows of the next file; nullopt after the last. DataLoss: a file is missing or damaged;
  // FailedPrecondition, after the last file: the graph has other edges, or another order of edges.
  Result<std::optional<Piece>> Next();

 private:
  SavedRowsReader(const DistGraph& graph, storage::StoreLocation at, std::vector<format::SavedTensorEntry> entries,
                  const RowSpace& rows);

  const storage::StoreLocation at_;
  const std::vector<format::SavedTensorEntry> entries_;
  const RowSpace rows_;
  RowOrder order_;
  size_t next_file_ = 0;
  uint64_t num_read_ = 0;
};

// Returns the row space of an entry, such as "nodes/paper", in this graph. FailedPrecondition: the graph has no such
// type.
Result<RowSpace> RowSpaceOf(const format::SavedTensorEntry& entry, const graph::GraphSchema& schema);

}  // namespace espalier::client
