// Embeddings that were saved with their optimizer state (SaveOptions::embeddings in saved_tensors.h). An EmbeddingTable
// or a DistEmbedding can resume from a saved embedding under any partitioning of the same graph and with any number of
// servers and ranks.
//
//   // On rank 0. Now() returns the embedding's spec and its current version.
//   RETURN_IF_ERROR(SaveTensors(*graph, {}, folder + "/000012", {.embeddings = {emb->Now()}}));
//
//   ASSIGN_OR_RETURN(const auto saved, SavedEmbedding::Open(*graph, folder + "/000012", {rows, "author"}));
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->embeddings(), *group, options,
//                                                          saved.get()));  // all ranks
//
// The class is not in client/embedding/, which depends only on the interfaces of sampler: reading the files also needs
// a store and row_order.h. EmbeddingTable uses a saved embedding through its base class sampler::SavedLearnableRows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/client/tensors/saved_tensors.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::client {

class SavedRowsReader;

// A saved embedding. For one thread. The graph must outlive it.
class SavedEmbedding final : public sampler::SavedLearnableRows {
 public:
  // Reads the manifest in the folder `uri`; RestoreSome reads the rows. NotFound: nothing was saved there, or no
  // embedding with that name and row space; the message lists the saved ones. FailedPrecondition: it was saved for
  // another graph.
  static Result<std::unique_ptr<SavedEmbedding>> Open(const DistGraph& graph, const std::string& uri,
                                                      const TensorName& name,
                                                      const storage::StoreSettings& stores = {});
  ~SavedEmbedding() override;

  uint64_t version() const override;
  Status CheckFits(const sampler::EmbeddingSpec& spec) const override;
  // Restores the rows of the next file and returns true, or returns false if all files had been restored before.
  // DataLoss: a file is missing or damaged. For rows of edges, the call after the last file returns FailedPrecondition
  // if the graph's edges or their order differ from those of the graph for which the rows were saved. After false or an
  // error the next call starts from the first file.
  Result<bool> RestoreSome(sampler::EmbeddingStore& store, const sampler::EmbeddingSpec& spec,
                           Deadline deadline) override;

 private:
  struct Source;

  explicit SavedEmbedding(std::unique_ptr<Source> source);

  const std::unique_ptr<Source> source_;
  std::unique_ptr<SavedRowsReader> rows_;  // null: the next call starts from the first file
};

}  // namespace espalier::client
