// The interface to the owner of one partition's learnable rows: tensors that the owner itself updates with the
// gradients of all trainers, step by step. `shard::Embeddings` implements it in the owner's process.
//
// The protocol. Rows have a version, initially 0. In step t = 0, 1, ... every trainer reads the rows that it needs at
// version t and then sends their gradients for step t, or an empty marker if it has none. When the gradients of the
// last trainer have arrived, the owner adds them row by row in (rank, batch position) order and applies the optimizer
// once, which gives version t + 1. Sending does not wait, unless the sender is a step ahead (Push); reading version
// t + 1 waits until it exists. Hence rows depend neither on the order of arrival nor on repeated messages, and trainers
// wait for each other only through the rows that they read, or if they are a step ahead.
//
// The rows and the optimizer's state, if it has one, are mutable tensors. They can be read like any tensor, but callers
// must not write to them after the first step: a resumed run creates the rows at the checkpoint's version and writes
// both tensors before its first step. Both stay at version t until the last trainer has sent its gradients for step t.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/sampler/access/row_ids.h"
#include "services/sampler/access/row_sink.h"
#include "services/sampler/access/sparse_optimizer.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {

struct EmbeddingSpec {
  // id.creation, the creation number, is shared by all trainers of a run and unique to the run (UniqueNumber). It
  // distinguishes the rows and messages of this run from those of another run of the same incarnation. 0: runs are not
  // distinguished, so Create with an equal specification keeps the existing rows.
  TensorId id;
  DType dtype = DType::kF32;  // of the rows as read: F32, F16 or BF16; updates always use F32
  uint32_t width = 0;         // values of a row
  Initializer initializer;
  SparseOptimizer optimizer;
  uint32_t num_trainers = 1;   // number of trainers whose gradients form a step
  uint64_t first_version = 0;  // version of the rows at creation: number of steps that restored values include
  uint64_t incarnation = 0;    // of the job that trains the rows; used instead of id.incarnation
};

// Returns OK, or InvalidArgument with what is wrong with the specification.
Status CheckEmbedding(const EmbeddingSpec& spec);
// Returns the specification of the tensor that holds the rows.
TensorSpec ToRowsSpec(const EmbeddingSpec& spec);
// Returns the id of the tensor that holds the state, F32 [rows, StateRowWidth]. A row has the optimizer's state,
// preceded by the F32 weights if the embedding's dtype is F16 or BF16. The tensor does not exist if StateRowWidth is 0.
TensorId ToStateId(TensorId embedding);
// Returns the number of F32 values in one row of the state.
size_t StateRowWidth(const EmbeddingSpec& spec);

// A part of one trainer's gradients for one step. A trainer without gradients sends one piece without rows.
struct GradientPiece {
  uint64_t step = 0;
  Rank rank;
  uint32_t piece = 0;  // number of the piece, in batch order; a repeated (step, rank, piece) is ignored
  uint32_t num_pieces = 1;
  // The step's learning rate. Rank 0's value is used. The values of all pieces must agree within a relative error of
  // 1e-12.
  double learning_rate = 0;
  std::vector<LocalRowId> rows;  // may be repeated
  Tensor gradients;              // F32 [rows.size(), width]
};

// Thread-safe. Arguments are untrusted (they come from RPCs): unknown names, arguments that do not fit and excessive
// requests return NotFound, InvalidArgument or ResourceExhausted, and never cause undefined behavior.
class PartitionEmbeddings {
 public:
  virtual ~PartitionEmbeddings() = default;

  // Creates rows at spec.first_version with the initializer's values. Succeeds if they exist with the same
  // specification; AlreadyExists for another specification, or if a column or another tensor has the name. The first
  // Create of a newer incarnation drops all rows and tensors of the job's older incarnations before it allocates
  // memory; Aborted if a newer incarnation has created any rows or tensors. A Create of another run (id.creation) of
  // the same incarnation replaces the rows that have the name; further calls of the run whose rows were replaced return
  // Aborted.
  virtual void Create(const EmbeddingSpec& spec, Deadline deadline, DoneStatus done) = 0;
  // Copies row rows[i], of EmbeddingSpec::dtype, to the sink as its row i. Waits until the rows have `version`;
  // DeadlineExceeded if they do not reach it in time, FailedPrecondition if they are past it. `rows` outlives the
  // completion.
  virtual void Read(const TensorId& embedding, uint64_t version, std::span<const LocalRowId> rows, RowSink sink,
                    Deadline deadline, DoneStatus done) = 0;
  // Adds a piece. Completes as soon as the piece is stored, or at once if it was stored before, with two exceptions.
  // Let the rows have version t. If the piece is a trainer's last piece for step t + 1, the call completes when the
  // rows reach version t + 1. If it is the last missing piece of step t, the call completes when step t has been
  // applied. A trainer that sends a step only after its previous step has completed is therefore never more than one
  // step ahead of an owner, even without other synchronization. FailedPrecondition: the trainer is further ahead.
  // DeadlineExceeded: the other trainers' gradients did not arrive in time.
  virtual void Push(const TensorId& embedding, GradientPiece piece, Deadline deadline, DoneStatus done) = 0;
  // Drops the rows. Waiting reads and pushes end with Unavailable. Succeeds if the rows do not exist.
  virtual void Drop(const TensorId& embedding, Deadline deadline, DoneStatus done) = 0;
};

}  // namespace espalier::sampler
