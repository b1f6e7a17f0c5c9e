// Learnable rows of nodes, of edges, or of anything, in a program of one's own, with autograd: what DGL calls
// DistEmbedding, together with its sparse optimiser.
//
//   ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph->embeddings(), *group,
//                                                          {.rows = sampler::RowSpace::Nodes(author),
//                                                           .size = 64, .name = "author"}));
//   ASSIGN_OR_RETURN(const torch::Tensor rows, (*emb)(blocks.nodes[author.value]));  // a leaf of autograd
//   loss(rows).backward();                                                           // anything that torch can
//   RETURN_IF_ERROR(emb->Step(/*learning_rate=*/0.01));
//
// Flow: rows lie on the graph servers, each beside its node or edge. In step t every rank reads the rows that it needs,
// at version t; autograd leaves their gradients at the leaves, and Step sends them. The owner adds up those of all
// ranks and applies the optimiser once: version t + 1 (sampler/access/partition_embeddings.h). Sending waits for
// nothing but the acknowledgement of the step before; reading waits for the version. Guarantees: rows depend neither on
// which rank came first nor on repeated messages; one rank ends with the same bits for any partitioning. First values
// depend on (seed, what the rows stand for, name, original id, column) alone. client::SaveTensors keeps rows and state,
// and client::SavedEmbedding brings them back (KeptRows). Caveat: a step ends when all ranks have called Step, those
// without gradients too; who is ahead of another by a step waits in the next one.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::adapters {

struct DistEmbeddingOptions {
  sampler::RowSpace rows;  // of nodes or edges of a type, or any number of own rows: of relations, for one
  int64_t size = 0;        // values of a row; at least 1
  std::string name;        // as graph::CheckName takes it; one embedding of a row space and name at a time in a job
  sampler::Initializer initializer = sampler::Initializer::Zeros();
  sampler::SparseOptimizer optimizer = {};
  DType dtype = DType::kF32;                        // of what reads transfer: F32, F16 or BF16; updates are made in F32
  std::chrono::milliseconds call_timeout{600'000};  // of each call
};

// Owned by one thread: of each rank's, which calls Create, Step and Drop in the same order as the others.
class DistEmbedding {
 public:
  // Makes the rows, with their first values, or, where rank 0 has `kept`, with those, their state and version: rank 0
  // does, the others wait for each step of it. Other ranks' `kept` is not looked at. `store` is client::DistGraph's
  // embeddings(); `group` must outlive this, and `kept` the call. The same on all ranks: InvalidArgument where the
  // options do not fit the graph; AlreadyExists where something else has the name; FailedPrecondition where `kept` does
  // not fit the options; errors of reading it.
  static Result<std::unique_ptr<DistEmbedding>> Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                       collective::Collective& group,
                                                       const DistEmbeddingOptions& options,
                                                       sampler::KeptRows* kept = nullptr);
  // Step's messages that are under way are not waited for.
  ~DistEmbedding();
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
  Status AwaitSteps();
  // Waits for all ranks, then gives the rows' memory back. Nobody reads them any more.
  Status Drop();

  int64_t size() const { return spec_.width; }
  uint64_t version() const { return version_; }  // steps so far
  // What client::SaveTensors takes, on one rank, before this rank's next Step: until that, the owners' state stays that
  // of the version.
  sampler::EmbeddingAt Now() const { return {.spec = spec_, .version = version_}; }

 private:
  // Acknowledgements of one step.
  class Acknowledgement;
  struct Read {
    std::vector<GlobalRowId> rows;
    torch::Tensor leaf;
  };

  DistEmbedding(std::shared_ptr<sampler::EmbeddingStore> store, collective::Collective& group,
                sampler::EmbeddingSpec spec, std::chrono::milliseconds call_timeout);
  Status CheckAreOf(sampler::RowsOf of) const;
  Result<torch::Tensor> ReadRows(std::vector<GlobalRowId> rows);
  Deadline CallDeadline() const { return Deadline::After(call_timeout_); }

  const std::shared_ptr<sampler::EmbeddingStore> store_;
  collective::Collective& group_;
  const sampler::EmbeddingSpec spec_;
  const std::chrono::milliseconds call_timeout_;
  uint64_t version_;                          // first that of the specification
  std::vector<Read> reads_;                   // since the last step, with autograd
  std::shared_ptr<Acknowledgement> pending_;  // null: nothing was sent
};

}  // namespace espalier::adapters
