// Writes rows of tensors, and of embeddings with their optimizer state, to the files of a save, and reads them back.
// Shared by saved_tensors.cc and saved_embeddings.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/client/tensors/dist_tensor.h"
#include "services/client/tensors/row_order.h"
#include "services/format/saved_tensors/saved_tensors.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/storage/open_store.h"

namespace espalier::client {

// Writes one save. Its files are in a subfolder with a unique name, so concurrent saves to the same folder do not
// overwrite each other's files; only one of them can commit. For one thread.
class SavedRowsWriter {
 public:
  explicit SavedRowsWriter(storage::StoreLocation at);
  // Removes the written files, unless Commit has succeeded or may have succeeded.
  ~SavedRowsWriter();
  SavedRowsWriter(const SavedRowsWriter&) = delete;
  SavedRowsWriter& operator=(const SavedRowsWriter&) = delete;

  // Writes all rows of the tensor `name` to files of about `bytes_per_file` and returns the manifest entry.
  Result<format::SavedTensorEntry> PutTensor(const DistGraph& graph, const RowSpace& rows, const std::string& name,
                                             size_t bytes_per_file);
  // Writes all rows of an embedding and their optimizer state and returns the manifest entry. Blocks until the servers
  // have reached embedding.version.
  Result<format::SavedEmbeddingEntry> PutEmbedding(const DistGraph& graph, const sampler::EmbeddingAt& embedding,
                                                   size_t bytes_per_file);
  // Writes the manifest, which makes the save visible. AlreadyExists: the folder already has a manifest.
  Status Commit(const format::SavedTensorsManifest& manifest);

 private:
  // One tensor of a row space: its manifest entry, to which files are added, and a function that reads rows.
  struct Column {
    format::SavedTensorEntry* entry;
    std::function<Result<Tensor>(std::span<const GlobalRowId> rows)> read;
  };

  // Writes all rows of `columns` in the order of RowOrder, which does not depend on the partitioning. The rows of one
  // file are read and written for each column in turn, before those of the next file.
  Status PutRows(const DistGraph& graph, const RowSpace& rows, const std::vector<Column>& columns,
                 size_t bytes_per_file);

  const storage::StoreLocation at_;
  const std::string folder_;       // subfolder of this save
  size_t num_entries_ = 0;         // manifest entries so far
  std::vector<std::string> keys_;  // of the written files
  bool may_remove_ = true;         // whether the destructor removes the files
};

// Reads saved rows file by file and returns them with their ids in the graph passed to Open. For one thread.
class SavedRowsReader {
 public:
  // The rows of the next file of each entry; these files have the same rows.
  struct Piece {
    std::vector<GlobalRowId> rows;
    std::vector<Tensor> columns;  // [rows.size(), row shape...], one for each entry
  };

  // Opens `entries`, at least one, which must have the same row space and number of files. `graph` must outlive the
  // object. FailedPrecondition: the rows were saved for another graph.
  static Result<std::unique_ptr<SavedRowsReader>> Open(const DistGraph& graph, const storage::StoreLocation& at,
                                                       std::vector<format::SavedTensorEntry> entries);

  const RowSpace& rows() const { return rows_; }
  // Returns the next piece; nullopt after the last. DataLoss: a file is missing or damaged. For rows of edges, the call
  // after the last piece returns FailedPrecondition if the graph's edges or their order differ from those of the graph
  // for which the rows were saved.
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

// Returns the row space with the name `entry.rows`, such as "nodes/paper". FailedPrecondition: `schema` has no such
// type. InvalidArgument: the name is malformed.
Result<RowSpace> ParseRowSpace(const format::SavedTensorEntry& entry, const graph::GraphSchema& schema);

}  // namespace espalier::client
