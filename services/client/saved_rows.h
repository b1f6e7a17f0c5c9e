// Rows on their way to the files of one save and back: those of tensors, and those of embeddings with the state beside
// them. What saved_tensors.cc and saved_embeddings.cc have in common.
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

// What one save puts into its folder, under a name that no other save has: of two into one folder, one commits, and
// neither has written over the other's files. One thread.
class SavedRowsWriter {
 public:
  explicit SavedRowsWriter(storage::StoreLocation at);
  // Removes the files, unless they may be committed.
  ~SavedRowsWriter();
  SavedRowsWriter(const SavedRowsWriter&) = delete;
  SavedRowsWriter& operator=(const SavedRowsWriter&) = delete;

  // All rows of the tensor of that name, about `bytes_per_file` at a time.
  Result<format::SavedTensorEntry> PutTensor(const DistGraph& graph, const RowSpace& rows, const std::string& name,
                                             size_t bytes_per_file);
  // All rows of an embedding at a version, which is waited for, and their state.
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

// Saved rows, a piece after the other, under the ids that they have in this graph. One thread.
class SavedRowsReader {
 public:
  struct Piece {
    std::vector<GlobalRowId> rows;
    std::vector<Tensor> columns;  // [rows.size(), row shape...], one for each entry
  };

  // Entries, at least one, of the same rows in as many files. FailedPrecondition where those are of another graph.
  // `graph` outlives this.
  static Result<std::unique_ptr<SavedRowsReader>> Open(const DistGraph& graph, const storage::StoreLocation& at,
                                                       std::vector<format::SavedTensorEntry> entries);

  const RowSpace& rows() const { return rows_; }
  // Nothing after the last. DataLoss: a file is missing or damaged; FailedPrecondition, after the last piece: the edges
  // are others, or stand in another order.
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

// Of the name that entries have, such as "nodes/paper", in this graph. FailedPrecondition where it has no such type.
Result<RowSpace> RowSpaceOf(const format::SavedTensorEntry& entry, const graph::GraphSchema& schema);

}  // namespace espalier::client
