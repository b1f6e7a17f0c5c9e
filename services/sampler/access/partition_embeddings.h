// Questions to the owner of one partition about learnable rows: tensors that the owner itself changes, by the gradients
// of all trainers, one step after the other. `shard::Embeddings` answers them in this process.
//
// The protocol. Rows have a version, at first 0. In step t = 0, 1, ... every trainer reads the rows that it needs at
// version t, and then sends their gradients for step t, or none (an empty marker). When the last trainer's are there,
// the owner adds them up row by row in (rank, batch position) order and applies the optimiser once: version t + 1.
// Sending waits for nothing; reading version t + 1 waits until it is there. So rows depend neither on who came first
// nor on how often a message was repeated, and no trainer waits for another but through the rows that it reads.
//
// Rows and state are two tensors, which can be read and written as such. Nobody may change them, but before the first
// step: so a run goes on from a checkpoint. It makes the rows at that version, writes both tensors, and takes steps.
// As long as one trainer has not sent its gradients for step t, both tensors stay as they are at version t.
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
  // With a creation that all trainers of a run agree on and no other run has (UniqueNumber): then nothing that another
  // run of the same incarnation has left, or still sends, is taken for this one's. 0: whoever gives this specification
  // means the same rows.
  TensorId id;
  DType dtype = DType::kF32;  // of the rows as they are read: F32, F16 or BF16; updates are made in F32 always
  uint32_t width = 0;         // values of a row
  Initializer initializer;
  SparseOptimizer optimizer;
  uint32_t num_trainers = 1;   // whose gradients make a step
  uint64_t first_version = 0;  // of the rows when they are made: steps that are in the values that they are to get
  uint64_t incarnation = 0;    // of the job, which begins anew with it
};

// InvalidArgument says what is wrong with it.
Status CheckEmbedding(const EmbeddingSpec& spec);
// The tensor that the rows lie in.
TensorSpec RowsOfEmbedding(const EmbeddingSpec& spec);
// The tensor that their state lies in, F32 [rows, StateRowWidth]: the F32 weights where rows are rounded from them,
// then the optimiser's. There is none where StateRowWidth is 0.
TensorId StateOfEmbedding(TensorId embedding);
size_t StateRowWidth(const EmbeddingSpec& spec);

// A part of what one trainer sends for one step. A trainer without gradients sends one piece without rows.
struct GradientPiece {
  uint64_t step = 0;
  Rank rank;
  uint32_t piece = 0;  // in batch order: what (step, rank, piece) names is taken once
  uint32_t num_pieces = 1;
  double learning_rate = 0;  // of the step: the same in all pieces of all trainers to within 1e-12; rank 0's is taken
  std::vector<LocalRowId> rows;  // may be repeated
  Tensor gradients;              // F32 [rows.size(), width]
};

// Thread-safe. Untrusted arguments (they come from RPCs): what does not exist, does not fit or is too large is
// NotFound, InvalidArgument or ResourceExhausted, never undefined behaviour.
class PartitionEmbeddings {
 public:
  virtual ~PartitionEmbeddings() = default;

  // Rows at spec.first_version with the initializer's values. The same specification again is fine; another one, or the
  // name of a column or another tensor, is AlreadyExists. The first one of a newer incarnation takes the place of all
  // that older ones of its job have left, before memory is asked for; Aborted where a newer one has created any. One of
  // another run (id.creation) of the same incarnation takes the place of the rows of its name; other calls of a run
  // whose rows are gone so are Aborted.
  virtual void Create(const EmbeddingSpec& spec, Deadline deadline, DoneStatus done) = 0;
  // Row i, of `dtype`, goes to its place of the sink; waits until the rows have that version, DeadlineExceeded where
  // they do not in time. FailedPrecondition where they are past it. `rows` outlives the completion.
  virtual void Read(const TensorId& embedding, uint64_t version, std::span<const LocalRowId> rows, RowSink sink,
                    Deadline deadline, DoneStatus done) = 0;
  // Acknowledged when taken, or where it had been; a trainer's last piece of the step after the rows' version, when
  // they have come to it; the last piece of a step, when the step has been applied. So trainers that send a step only
  // when their own before it is acknowledged are never ahead of an owner by more than a step, whether they meet
  // elsewhere or not: FailedPrecondition for who is. DeadlineExceeded where the others do not come in time.
  virtual void Push(const TensorId& embedding, GradientPiece piece, Deadline deadline, DoneStatus done) = 0;
  // Reads and pushes that wait end with Unavailable. Dropping what does not exist is fine.
  virtual void Drop(const TensorId& embedding, Deadline deadline, DoneStatus done) = 0;
};

}  // namespace espalier::sampler
