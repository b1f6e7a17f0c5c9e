// The learnable input rows of a run (spec.training.inputs[].embedding): read from their owners at the version of the
// step, joined to the features, and changed by what autograd finds for them. sampler/access/partition_embeddings.h says
// how trainers and owners agree on versions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/trainer/data/batch_tensors.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/optim/optimizers.h"
#include "services/trainer/optim/schedules.h"

namespace espalier::trainer {

// Owned by one thread. Every rank calls the same functions in the same order.
class LearnableRows {
 public:
  // `book` and `store` outlive this. `on_progress` may be empty: called for each chunk that is copied.
  LearnableRows(const job::Training& training, const graph::PartitionBook& book, sampler::EmbeddingStore& store,
                Rank rank, uint32_t num_trainers, const Timeouts& timeouts, std::function<void()> on_progress = {});

  bool empty() const { return tables_.empty(); }
  // By NodeTypeId; 0: the type has none.
  int64_t WidthOf(NodeTypeId type) const;

  // On every owner, with their first values: rank 0 does it, table by table.
  Status Create(collective::Collective& collective);
  // The same at a version, with what a checkpoint keeps of it: only rank 0 needs `snapshot`, and writes it to the
  // owners, piece by piece, while the others wait for each. InvalidArgument on all ranks where it does not fit.
  Status CreateAt(uint64_t version, const NamedTensors& snapshot, const NodeData& data,
                  collective::Collective& collective);
  // What a checkpoint keeps of version(), in the order of original ids, by node type: "rows.TYPE" [nodes, size] and
  // "state.TYPE" f32 [nodes, state]. Waits for the version; nobody gets the next one meanwhile, which needs this
  // trainer's gradients. Rank 0 alone gets it, with memory for all rows of the graph, piece by piece while the others
  // wait for each. An error is the same on all ranks.
  Result<NamedTensors> Snapshot(const NodeData& data, collective::Collective& collective) const;
  // SHA-256 over rows and state of version() by node type and original id, whatever the partitioning and the number of
  // trainers: 64 hexadecimal digits, the same on every rank. Reads everything once, each rank its chunks.
  Result<std::string> Digest(sampler::SeedSource& seeds, collective::Collective& collective) const;
  // Steps that have been sent: the version that is read.
  uint64_t version() const { return version_; }

  // f32 [nodes, WidthOf(type)] as they are now.
  Result<torch::Tensor> Read(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Reads the rows of a batch's nodes as leaves of autograd, and joins them to its features.
  Status Join(BatchTensors* batch, Deadline deadline) const;
  // The same for a share without nodes, of EmptyBatch.
  void JoinNothing(BatchTensors* batch) const;

  // Sends the gradients of the batch's leaves, or that there are none, for step version(), which ends with this. Waits
  // for the acknowledgements of the step before alone.
  Status Push(const BatchTensors& batch, const RunLength& run);
  // Gives the rows' memory back to their owners; rank 0 does it. Nobody reads them any more.
  Status Drop(Deadline deadline);
  // Until everything sent is acknowledged.
  Status AwaitPushes();

 private:
  struct Table {
    NodeTypeId type;
    std::string type_name;
    sampler::EmbeddingSpec spec;
    double learning_rate = 0;
    job::LearningRateSchedule schedule;
  };
  // Acknowledgements of one step.
  class Acknowledgements;

  const Table* Find(NodeTypeId type) const;
  // Rows go with the server that holds them: where they are missing, Unavailable, so that a next incarnation makes them
  // again.
  static Status RestartWhereLost(Status status);
  // Rank 0's copies of one table: values [nodes, size] and state f32 [nodes, state], by original id.
  struct TableCopy {
    torch::Tensor values, state;
  };
  static int64_t RowsPerChunk(const Table& table);
  Result<TableCopy> MakeRoom(const Table& table) const;
  Result<TableCopy> FindIn(const NamedTensors& snapshot, const Table& table) const;
  Status CopyChunk(const Table& table, const NodeData& data, int64_t first, TableCopy* copy) const;
  Status RestoreChunk(const Table& table, const NodeData& data, int64_t first, const TableCopy& copy) const;
  // SHA-256 of a chunk of original ids, 64 digits.
  Result<std::string> DigestOfChunk(const Table& table, int64_t first, sampler::SeedSource& seeds) const;
  // Calls `on_chunk` on rank 0 for each chunk of the table's nodes, the first of which it names; `before` comes first.
  Status ForChunks(const Table& table, collective::Collective& collective, const std::function<Status()>& before,
                   const std::function<Status(int64_t first)>& on_chunk) const;

  const graph::PartitionBook& book_;
  sampler::EmbeddingStore& store_;
  const Rank rank_;
  const Timeouts timeouts_;
  const std::function<void()> on_progress_;
  std::vector<Table> tables_;  // ascending type
  uint64_t version_ = 0;
  std::shared_ptr<Acknowledgements> pending_;  // null: nothing was sent
};

// F32 side by side; either may have no columns.
torch::Tensor SideBySide(const torch::Tensor& features, const torch::Tensor& rows);

}  // namespace espalier::trainer
