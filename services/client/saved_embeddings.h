// Restores embeddings that were saved with their optimizer state (SaveOptions::embeddings of saved_tensors.h), with any
// partitioning of the same graph and any number of servers and ranks.
//
//   RETURN_IF_ERROR(SaveTensors(*graph, {}, folder + "/000012", {.embeddings = {emb->Now()}}));  // rank 0
//
//   ASSIGN_OR_RETURN(const auto saved, SavedEmbedding::Open(*graph, folder + "/000012", {rows, "author"}));
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->partitions().embeddings(), *group, options,
//                                                          saved.get()));  // all ranks
// This class is in client and not beside adapters::DistEmbedding because reading the files needs object storage and the
// order of original ids; adapters depend on the interfaces of sampler alone and use sampler::KeptRows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/client/saved_tensors.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::client {

class SavedRowsReader;

// Owned by one thread. The graph must outlive this object.
class SavedEmbedding final : public sampler::KeptRows {
 public:
  // Reads the manifest in the folder `uri`, but no rows yet. NotFound: no complete save, or no embedding of that name
  // (the message lists those that were saved); FailedPrecondition: the save is of another graph.
  static Result<std::unique_ptr<SavedEmbedding>> Open(const DistGraph& graph, const std::string& uri,
                                                      const TensorName& name,
                                                      const storage::StoreSettings& stores = {});
  ~SavedEmbedding() override;

  uint64_t version() const override;
  Status CheckFits(const sampler::EmbeddingSpec& spec) const override;
  // Restores the rows of one file. DataLoss: the file is missing or damaged; FailedPrecondition, after the last file:
  // the edges are not those of the saved graph.
  Result<bool> RestoreSome(sampler::EmbeddingStore& store, const sampler::EmbeddingSpec& spec,
                           Deadline deadline) override;

 private:
  struct Place;

  explicit SavedEmbedding(std::unique_ptr<Place> place);

  const std::unique_ptr<Place> place_;
  std::unique_ptr<SavedRowsReader> rows_;  // null: at the beginning
};

}  // namespace espalier::client
