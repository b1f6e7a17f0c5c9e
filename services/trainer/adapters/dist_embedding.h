// Learnable rows of nodes, edges or anything else for user programs, as leaves of torch's autograd. Counterpart of
// DGL's DistEmbedding with its sparse optimizer.
//
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->embeddings(), *group,
//                                                          {.rows = sampler::RowSpace::Nodes(author),
//                                                           .size = 64, .name = "author"}));
//   ASSIGN_OR_RETURN(const torch::Tensor rows, (*emb)(blocks.nodes[author.value]));  // a leaf of autograd
//   loss(rows).backward();                                                           // any computation in torch
//   RETURN_IF_ERROR(emb->Step(/*learning_rate=*/0.01));
//
// A read returns a leaf of autograd, where backward() stores the gradients of the rows; Step sends these gradients. The
// rows belong to a client::EmbeddingTable: client/embedding/embedding_table.h says where rows are stored, what a step
// is, and what is guaranteed.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "services/client/embedding/embedding_table.h"

namespace espalier::adapters {

using DistEmbeddingOptions = client::EmbeddingTableOptions;

// For one thread at a time. Every rank has a DistEmbedding; all ranks must call Create, Step and Drop in the same
// order.
class DistEmbedding {
 public:
  // The arguments and errors are those of EmbeddingTable::Create.
  static Result<std::unique_ptr<DistEmbedding>> Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                       collective::Collective& group,
                                                       const DistEmbeddingOptions& options,
                                                       sampler::SavedLearnableRows* saved = nullptr);
  DistEmbedding(const DistEmbedding&) = delete;
  DistEmbedding& operator=(const DistEmbedding&) = delete;

  // Returns the rows at the current version: f32 [rows.size(), size()] on the CPU; ids may repeat. The tensor is a leaf
  // of autograd whose gradient the next Step sends; a step may have any number of reads. Under torch::NoGradGuard it
  // does not require a gradient, and Step ignores it. InvalidArgument: a row does not exist, or node ids are given for
  // rows that are not those of nodes, or edge ids for rows that are not those of edges. The node type or edge type of
  // ids is not checked. Unavailable: a graph server that held rows has ended; the program must be restarted (exit code
  // 74).
  Result<torch::Tensor> operator()(std::span<const GlobalRowId> rows);
  Result<torch::Tensor> operator()(std::span<const GlobalNodeId> nodes);
  Result<torch::Tensor> operator()(std::span<const GlobalEdgeId> edges);
  // The same for `ids`, i64 [rows] on any device: global ids of nodes or edges, or numbers of own rows.
  Result<torch::Tensor> operator()(const torch::Tensor& ids);

  // Ends a step: sends the gradients of the rows read since the last step and forgets these reads. The gradients may be
  // dense or sparse; there may be none. First waits for the acknowledgment of the previous step. `learning_rate` must
  // be the same on every rank.
  Status Step(double learning_rate);
  // Discards the reads since the last step: their gradients are not sent. Call it when a mini-batch is abandoned. (Each
  // read also discards the earlier reads that have no gradient and whose tensors neither the program nor an autograd
  // graph refers to. A loop that only reads rows, without NoGradGuard, therefore keeps only the last read.)
  void Forget() { reads_.clear(); }
  // Returns the number of reads in which the next Step looks for gradients.
  size_t num_pending_reads() const { return reads_.size(); }
  // Blocks until the servers have acknowledged all gradients that were sent.
  Status AwaitSteps() { return table_->AwaitSteps(); }
  // Waits for all ranks, then frees the rows on the servers. No rank may read them afterwards.
  Status Drop() { return table_->Drop(); }

  int64_t size() const { return table_->size(); }         // values per row
  uint64_t version() const { return table_->version(); }  // number of steps so far, including those of `saved`
  // Returns this embedding at its current version, for SaveOptions::embeddings (see EmbeddingTable::Now).
  sampler::EmbeddingAt Now() const { return table_->Now(); }

 private:
  struct Read {
    std::vector<GlobalRowId> rows;
    torch::Tensor leaf;  // f32 [rows, size()]
  };

  explicit DistEmbedding(std::unique_ptr<client::EmbeddingTable> table) : table_(std::move(table)) {}
  Status CheckRowsAre(sampler::RowsOf of) const;
  Result<torch::Tensor> ReadRows(std::vector<GlobalRowId> rows);

  const std::unique_ptr<client::EmbeddingTable> table_;
  std::vector<Read> reads_;  // since the last step
};

}  // namespace espalier::adapters
