// Learnable rows that were saved with their state (SaveOptions::embeddings of saved_tensors.h), for an embedding that
// goes on from them over any partitioning of the same graph, any number of servers and of ranks.
//
//   RETURN_IF_ERROR(SaveTensors(*graph, {}, folder + "/000012", {.embeddings = {emb->Now()}}));  // rank 0
//
//   ASSIGN_OR_RETURN(const auto saved, SavedEmbedding::Open(*graph, folder + "/000012", {rows, "author"}));
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->partitions().embeddings(), *group, options,
//                                                          saved.get()));  // all ranks
//
// These live here and not beside adapters::DistEmbedding because files of rows need a store and the order of original
// ids, which adapters, that know the graph by sampler's interfaces alone, have not: sampler::KeptRows is all they see.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/client/saved_tensors.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::client {

class SavedRows;

// Owned by one thread. The graph outlives this.
class SavedEmbedding final : public sampler::KeptRows {
 public:
  // Reads what was saved in the folder `uri`, but no rows yet. NotFound: nothing was, or no embedding of that name (the
  // message has those that were); FailedPrecondition: they are those of another graph.
  static Result<std::unique_ptr<SavedEmbedding>> Open(const DistGraph& graph, const std::string& uri,
                                                      const TensorName& name,
                                                      const storage::StoreSettings& stores = {});
  ~SavedEmbedding() override;

  uint64_t version() const override;
  Status CheckFits(const sampler::EmbeddingSpec& spec) const override;
  // A file at a time. DataLoss: one that is missing or damaged; FailedPrecondition, after the last: edges that are
  // others.
  Result<bool> RestoreSome(sampler::EmbeddingStore& store, const sampler::EmbeddingSpec& spec,
                           Deadline deadline) override;

 private:
  struct Place;

  explicit SavedEmbedding(std::unique_ptr<Place> place);

  const std::unique_ptr<Place> place_;
  std::unique_ptr<SavedRows> rows_;  // null: at the beginning
};

}  // namespace espalier::client
