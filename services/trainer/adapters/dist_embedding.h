// Learnable rows of nodes, of edges or of anything in a program of one's own, with autograd: DGL's DistEmbedding and
// its sparse optimizer.
//
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->embeddings(), *group,
//                                                          {.rows = sampler::RowSpace::Nodes(author),
//                                                           .size = 64, .name = "author"}));
//   ASSIGN_OR_RETURN(const torch::Tensor rows, (*emb)(blocks.nodes[author.value]));  // a leaf of autograd
//   loss(rows).backward();                                                           // anything that torch can
//   RETURN_IF_ERROR(emb->Step(/*learning_rate=*/0.01));
//
// Autograd leaves the gradients of what was read at the leaves; Step sends them. Everything else is
// client::EmbeddingTable (client/embedding/embedding_table.h): where rows lie, what a step is, and the guarantees.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "services/client/embedding/embedding_table.h"

namespace espalier::adapters {

using DistEmbeddingOptions = client::EmbeddingTableOptions;

// Owned by one thread: of each rank's, which calls Create, Step and Drop in the same order as the others.
class DistEmbedding {
 public:
  // As EmbeddingTable::Create.
  static Result<std::unique_ptr<DistEmbedding>> Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                       collective::Collective& group,
                                                       const DistEmbeddingOptions& options,
                                                       sampler::KeptRows* kept = nullptr);
  DistEmbedding(const DistEmbedding&) = delete;
  DistEmbedding& operator=(const DistEmbedding&) = delete;

  // f32 [rows, size] as the steps so far have left them, on the CPU; repetitions are allowed. A leaf of autograd, whose
  // gradient the next Step sends; as often in a step as one likes. Under torch::NoGradGuard it is no leaf, and Step
  // does not look at it. InvalidArgument: a row that does not exist, or nodes where the rows do not stand for nodes,
  // and edges where they do not for edges; of which type the ids are nobody can tell. Unavailable: a graph server that
  // held rows has ended, and with it this incarnation of the program (exit code 74).
  Result<torch::Tensor> operator()(std::span<const GlobalRowId> rows);
  Result<torch::Tensor> operator()(std::span<const GlobalNodeId> nodes);
  Result<torch::Tensor> operator()(std::span<const GlobalEdgeId> edges);
  // The same; ids: i64 [rows], global ids.
  Result<torch::Tensor> operator()(const torch::Tensor& ids);

  // Ends a step: sends the gradients of what was read since the last one, dense or sparse, or that there are none, and
  // forgets them. The same rate on every rank.
  Status Step(double learning_rate);
  // Of a batch that is given up: the gradients of what was read since the last step are not sent. (What was read, has
  // no gradient, and is held neither by the program nor by a graph of autograd is forgotten by the next read without
  // this: a loop that only looks at rows, and forgets its NoGradGuard, keeps what it has read last.)
  void Forget() { reads_.clear(); }
  // Reads whose gradients the next Step would look for.
  size_t num_awaited() const { return reads_.size(); }
  // Until everything sent is acknowledged.
  Status AwaitSteps() { return table_->AwaitSteps(); }
  // Waits for all ranks, then gives the rows' memory back. Nobody reads them any more.
  Status Drop() { return table_->Drop(); }

  int64_t size() const { return table_->size(); }
  uint64_t version() const { return table_->version(); }  // steps so far
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
  std::vector<Read> reads_;  // since the last step, with autograd
};

}  // namespace espalier::adapters
