// Learnable rows of a node type in a program of one's own, with autograd: what DGL calls DistEmbedding, together with
// its sparse optimiser.
//
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->partitions().embeddings(), *group,
//                                                          {.type = author, .size = 64, .name = "author"}));
//   ASSIGN_OR_RETURN(const torch::Tensor rows, (*emb)(blocks.nodes[author.value]));  // a leaf of autograd
//   loss(rows).backward();                                                           // anything that torch can
//   RETURN_IF_ERROR(emb->Step(/*learning_rate=*/0.01));
//
// Flow: rows lie on the graph servers, each beside its node. In step t every rank reads the rows that it needs, at
// version t; autograd leaves their gradients at the leaves, and Step sends them. The owner adds up those of all ranks
// and applies the optimiser once: version t + 1 (sampler/partition_embeddings.h). Sending waits for nothing but the
// acknowledgement of the step before; reading waits for the version.
// Guarantees: rows depend neither on which rank came first nor on repeated messages; one rank ends with the same bits
// for any partitioning. First values depend on (seed, node type, name, original id, column) alone.
// Caveat: a step ends when all ranks have called Step, those without gradients too. Ranks that have no other point to
// meet in each step (the all-reduce of a network's gradients is one) need a barrier there: who is ahead of another by
// more than a step is refused.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/sampler/embedding_store.h"

namespace espalier::adapters {

struct DistEmbeddingOptions {
  NodeTypeId type;
  int64_t size = 0;  // values of a row; at least 1
  std::string name;  // as graph::CheckName takes it; one embedding of a type and name at a time in a job
  sampler::Initializer initializer = sampler::Initializer::Zeros();
  sampler::SparseOptimizer optimizer = {};
  DType dtype = DType::kF32;                        // of what reads transfer: F32, F16 or BF16; updates are made in F32
  std::chrono::milliseconds call_timeout{600'000};  // of each call
};

// Owned by one thread: of each rank's, which calls Create, Step and Drop in the same order as the others.
class DistEmbedding {
 public:
  // Makes the rows, with their first values: rank 0 does, the others wait for it. `store` and `group` outlive this.
  // InvalidArgument on all ranks where the options do not fit the graph; AlreadyExists where something else has the
  // name.
  static Result<std::unique_ptr<DistEmbedding>> Create(sampler::EmbeddingStore& store, collective::Collective& group,
                                                       const DistEmbeddingOptions& options);
  // Step's messages that are under way are not waited for.
  ~DistEmbedding();
  DistEmbedding(const DistEmbedding&) = delete;
  DistEmbedding& operator=(const DistEmbedding&) = delete;

  // f32 [nodes, size] as the steps so far have left them, on the CPU; repetitions are allowed. A leaf of autograd,
  // whose gradient the next Step sends; as often in a step as one likes. Under torch::NoGradGuard it is no leaf, and
  // Step does not look at it. InvalidArgument: a node that does not exist; Unavailable: a graph server that held rows
  // has ended, and with it this incarnation of the program (exit code 74).
  Result<torch::Tensor> operator()(std::span<const GlobalNodeId> nodes);
  // The same; ids: i64 [nodes], global ids.
  Result<torch::Tensor> operator()(const torch::Tensor& ids);

  // Ends a step: sends the gradients of what was read since the last one, dense or sparse, or that there are none, and
  // forgets them. The same rate on every rank.
  Status Step(double learning_rate);
  // Until everything sent is acknowledged.
  Status AwaitSteps();
  // Waits for all ranks, then gives the rows' memory back. Nobody reads them any more.
  Status Drop();

  int64_t size() const { return spec_.width; }
  uint64_t version() const { return version_; }  // steps so far

 private:
  // Acknowledgements of one step.
  class Acknowledgement;
  struct Read {
    std::vector<GlobalRowId> rows;
    torch::Tensor leaf;
  };

  DistEmbedding(sampler::EmbeddingStore& store, collective::Collective& group, sampler::EmbeddingSpec spec,
                std::chrono::milliseconds call_timeout);
  Deadline CallDeadline() const { return Deadline::After(call_timeout_); }

  sampler::EmbeddingStore& store_;
  collective::Collective& group_;
  const sampler::EmbeddingSpec spec_;
  const std::chrono::milliseconds call_timeout_;
  uint64_t version_ = 0;
  std::vector<Read> reads_;                   // since the last step, with autograd
  std::shared_ptr<Acknowledgement> pending_;  // null: nothing was sent
};

}  // namespace espalier::adapters
