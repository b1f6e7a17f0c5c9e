// Learnable rows that are read and trained as arrays: one row for each node or edge of a type, or any number of rows
// for anything else, such as relations (RowSpace::Own). Counterpart of DGL's DistEmbedding with its sparse optimizer,
// without autograd and without torch. adapters::DistEmbedding adds torch's autograd.
//
//   ASSIGN_OR_RETURN(const auto table, EmbeddingTable::Create(graph->embeddings(), *group,
//                                                             {.rows = sampler::RowSpace::Nodes(author),
//                                                              .size = 64, .name = "author"}));
//   std::vector<float> rows(ids.size() * table->size());
//   RETURN_IF_ERROR(table->GatherRowsInto(ids, rows));                         // ids: int64 [N]
//   ...                                                                        // gradients: float [N, 64]
//   RETURN_IF_ERROR(table->Step(ids, gradients, /*learning_rate=*/0.01));
//
// Rows are stored on the graph servers: the row of a node or edge on the server that owns it, own rows in equal parts
// on all servers. In step t every rank reads version t of the rows that it needs and sends their gradients. The owner
// of a row combines the gradients of all ranks and applies the optimizer once, which produces version t + 1
// (sampler/access/partition_embeddings.h). Step sends in the background: it waits only until the gradients of the
// previous step are acknowledged. A read waits until the servers have the version that it reads. A step is complete
// when all ranks have called Step, with or without gradients; a rank that is a step ahead waits in its next call of
// Step.
//
// Guarantees: the rows depend neither on which rank calls Step first nor on repeated messages. With one rank the rows
// have the same bits under every partitioning. The initial value of an element depends only on (seed, row space, name,
// original id, index in the row). client::SaveTensors saves rows and optimizer state, client::SavedEmbedding restores
// them (SavedLearnableRows).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/sampler/routing/embedding_store.h"

namespace espalier::client {

struct EmbeddingTableOptions {
  sampler::RowSpace rows;  // the nodes or edges of a type, or RowSpace::Own(number of rows)
  int64_t size = 0;        // values per row, at least 1
  std::string name;        // must pass graph::CheckName; unique in a job among the tensors and columns of a row space
  sampler::Initializer initializer = sampler::Initializer::Zeros();
  // SparseOptimizer::duplicates selects whether several gradients of one row in one step are summed or averaged.
  sampler::SparseOptimizer optimizer = {};
  DType dtype = DType::kF32;                        // of transferred rows: F32, F16 or BF16; updates use F32
  std::chrono::milliseconds call_timeout{600'000};  // of each call without a deadline, and of sending gradients
  std::stop_token stop = {};                        // a stop request ends Create with Cancelled
};

// For one thread at a time. Every rank has a table; all ranks must call Create, Step and Drop in the same order.
class EmbeddingTable {
 public:
  // Creates the rows with their initial values or, if rank 0 passes `saved`, with the values, optimizer state and
  // version in `saved`. Every rank must call it. Rank 0 does the work and the other ranks wait; their `saved` is
  // ignored. `store` is DistGraph::embeddings(), which keeps the graph alive; `group` must outlive the table, and
  // `saved` must outlive the call. Errors are the same on all ranks. InvalidArgument: the options do not fit the graph.
  // AlreadyExists: a tensor or a column of the same row space has the name. FailedPrecondition: `saved` does not fit
  // the options. Other errors are those of SavedLearnableRows::RestoreSome and of the servers.
  static Result<std::unique_ptr<EmbeddingTable>> Create(std::shared_ptr<sampler::EmbeddingStore> store,
                                                        collective::Collective& group,
                                                        const EmbeddingTableOptions& options,
                                                        sampler::SavedLearnableRows* saved = nullptr);
  // Does not wait for gradients that Step is still sending.
  ~EmbeddingTable();
  EmbeddingTable(const EmbeddingTable&) = delete;
  EmbeddingTable& operator=(const EmbeddingTable&) = delete;

  // Errors of all calls below. InvalidArgument: an id does not exist, or an array has the wrong size. Unavailable: a
  // graph server that held rows has ended; the program must be restarted (exit code 74). DeadlineExceeded: the
  // deadline, by default call_timeout from now, has passed. Cancelled: the deadline's stop was requested
  // (Deadline::OrStop). After DeadlineExceeded or Cancelled the call can be repeated, unless the gradients of a step
  // could not be delivered: every later Step, AwaitSteps and Drop then returns the error of the delivery.

  // Writes the rows of `ids` at the current version to `out`: float [ids.size(), size()], row-major, in the order of
  // `ids`, which are global ids and may repeat. Rows of F16 and BF16 are converted to float. `out` belongs to the
  // caller; nothing writes to it after the call has returned.
  Status GatherRowsInto(std::span<const int64_t> ids, std::span<float> out, std::optional<Deadline> deadline = {});
  // Like GatherRowsInto, but returns new memory: EmbeddingTableOptions::dtype [rows.size(), size()]. `rows` are the
  // global ids.
  Result<Tensor> ReadRows(std::span<const GlobalRowId> rows, std::optional<Deadline> deadline = {});

  // Ends the step: sends `gradients` (float [ids.size(), size()], row-major) of the rows with the global ids `ids`.
  // Both arrays are copied before the call returns. A rank without gradients must call Step with empty arrays. An id
  // that occurs several times, in one call or in the calls of several ranks, has several gradients: they are summed, as
  // by autograd, or averaged, as by DGL (SparseOptimizer::duplicates). Rows without a gradient do not change.
  // `learning_rate` must be the same on every rank. The deadline bounds the wait for the acknowledgment of the previous
  // step; the gradients are sent in the background within call_timeout. If Step returns an error, it has sent nothing,
  // and version() is unchanged.
  Status Step(std::span<const int64_t> ids, std::span<const float> gradients, double learning_rate,
              std::optional<Deadline> deadline = {});
  // Like the other overload, but does not copy the gradients, F32 [rows.size(), size()]. Their bytes must not change
  // after the call.
  Status Step(std::span<const GlobalRowId> rows, const Tensor& gradients, double learning_rate,
              std::optional<Deadline> deadline = {});
  // Blocks until the gradients of the last step are acknowledged.
  Status AwaitSteps(std::optional<Deadline> deadline = {});
  // Waits until all ranks have called Drop, then frees the rows on the servers. No rank may read them afterwards.
  Status Drop();

  int64_t size() const { return spec_.width; }   // values per row
  uint64_t version() const { return version_; }  // number of steps so far, including those of saved rows
  const std::string& name() const { return spec_.id.name; }
  const sampler::RowSpace& rows() const { return spec_.id.rows; }
  // Returns this embedding at its current version, for SaveOptions::embeddings. The rank that saves it must do so
  // before its next Step: the owners keep the optimizer state of this version only until then.
  sampler::EmbeddingAt Now() const { return {.spec = spec_, .version = version_}; }

 private:
  class Acknowledgment;  // completion of one step

  EmbeddingTable(std::shared_ptr<sampler::EmbeddingStore> store, collective::Collective& group,
                 sampler::EmbeddingSpec spec, std::chrono::milliseconds call_timeout);
  Deadline CallDeadline() const { return Deadline::After(call_timeout_); }
  Result<std::vector<GlobalRowId>> ToRowIds(std::span<const int64_t> ids) const;

  const std::shared_ptr<sampler::EmbeddingStore> store_;
  collective::Collective& group_;  // outlives this
  const sampler::EmbeddingSpec spec_;
  const std::chrono::milliseconds call_timeout_;
  uint64_t version_;                         // starts at EmbeddingSpec::first_version
  std::shared_ptr<Acknowledgment> pending_;  // null: all steps are acknowledged
};

}  // namespace espalier::client
