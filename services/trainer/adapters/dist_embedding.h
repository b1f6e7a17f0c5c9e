// Learnable rows of nodes, edges or anything else for user programs, with torch's autograd: DGL's DistEmbedding with
// its sparse optimizer.
//
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->embeddings(), *group,
//                                                          {.rows = sampler::RowSpace::Nodes(author),
//                                                           .size = 64, .name = "author"}));
//   ASSIGN_OR_RETURN(const torch::Tensor rows, (*emb)(blocks.nodes[author.value]));  // a leaf of autograd
//   loss(rows).backward();                                                           // any computation in torch
//   RETURN_IF_ERROR(emb->Step(/*learning_rate=*/0.01));
//
// A read returns a leaf of autograd, where backward() stores the gradients of the rows; Step sends them. For the rest
// this uses client::EmbeddingTable: client/embedding/embedding_table.h says where rows are stored, what a step is, and
// what is guaranteed.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "services/client/embedding/embedding_table.h"

namespace espalier::adapters {

using DistEmbeddingOptions = client::EmbeddingTableOptions;

// Owned by one thread. Every rank has one and calls Create, Step and Drop in the same order as the others.
class DistEmbedding {
 public:
  // As EmbeddingTable::Create.
  static Result<std::unique_ptr<DistEmbedding>> Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                       collective::Collective& group,
                                                       const DistEmbeddingOptions& options,
                                                       sampler::SavedLearnableRows* kept = nullptr);
  DistEmbedding(const DistEmbedding&) = delete;
  DistEmbedding& operator=(const DistEmbedding&) = delete;

  // Returns the rows at the current version: f32 [rows.size(), size()] on the CPU; ids may repeat. The tensor is a leaf
  // of autograd whose gradient the next Step sends; a step may have any number of reads. Under torch::NoGradGuard it
  // does not require a gradient, and Step ignores it. InvalidArgument: a row does not exist, or node or edge ids are
  // given for rows that do not stand for nodes or edges; whether ids are of the right type cannot be checked.
  // Unavailable: a graph server that held rows has ended; the program must be restarted (exit code 74).
  Result<torch::Tensor> operator()(std::span<const GlobalRowId> rows);
  Result<torch::Tensor> operator()(std::span<const GlobalNodeId> nodes);
  Result<torch::Tensor> operator()(std::span<const GlobalEdgeId> edges);
  // Returns the rows of `ids`, which are global ids: i64 [rows].
  Result<torch::Tensor> operator()(const torch::Tensor& ids);

  // Ends a step: sends the gradients of the rows read since the last step, dense or sparse, possibly none, and forgets
  // these reads. `learning_rate` must be the same on every rank.
  Status Step(double learning_rate);
  // Discards the reads since the last step: their gradients are not sent. Call it when a batch is abandoned. (The next
  // read also discards each earlier read that has no gradient and whose tensor neither the program nor an autograd
  // graph refers to. A loop that only reads rows, without NoGradGuard, therefore keeps only the last read.)
  void Forget() { reads_.clear(); }
  // Returns the number of reads in which the next Step looks for gradients.
  size_t num_awaited() const { return reads_.size(); }
  // Blocks until everything that was sent is acknowledged.
  Status AwaitSteps() { return table_->AwaitSteps(); }
  // Waits for all ranks, then frees the rows on the servers. No rank may read them afterwards.
  Status Drop() { return table_->Drop(); }

  int64_t size() const { return table_->size(); }
  uint64_t version() const { return table_->version(); }  // number of steps so far
  // As EmbeddingTable::Now.
  sampler::EmbeddingAt Now() const { return table_->Now(); }

 private:
  struct Read {
    std::vector<GlobalRowId> rows;
    torch::Tensor leaf;
  };

  explicit DistEmbedding(std::unique_ptr<client::EmbeddingTable> table) : table_(std::move(table)) {}
  Status CheckRowsAre(sampler::RowsOf of) const;
  Result<torch::Tensor> ReadRows(std::vector<GlobalRowId> rows);

  const std::unique_ptr<client::EmbeddingTable> table_;
  std::vector<Read> reads_;  // of leaves, since the last step
};

}  // namespace espalier::adapters
