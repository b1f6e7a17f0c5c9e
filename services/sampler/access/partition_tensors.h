// Questions to the owner of one partition about its part of mutable tensors, in local rows. `shard::MutableTensors`
// answers them in this process, `client::RemoteTensors` asks a server over gRPC, and PartitionedTensors puts the
// answers of all partitions together.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/tensor.h"
#include "services/sampler/access/row_sink.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {

// What a partition knows of a tensor.
struct TensorDescription {
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  // Numbers the creations of one register: equal in their upper 32 bits, and the later is the larger one. A partition's
  // register begins anew with its process.
  uint64_t creation = 0;
  uint64_t maker = 0;         // the act that made it: TensorSpec::maker
  uint64_t num_own_rows = 0;  // in all partitions; 0 for rows of nodes and edges
  bool is_complete = true;    // partition 0 says so once all partitions have its rows
};

// Thread-safe. Untrusted arguments (they come from RPCs): what does not exist, does not fit or is too large is
// NotFound, InvalidArgument or ResourceExhausted, never undefined behaviour. Every change is applied once, however
// often its message is repeated; a question that starts after it was answered sees it. One of few rows is applied as a
// whole or not at all; over RPC a large Write is cut into pieces of which that is true. Unavailable: rows that are
// being made or filled at this moment (over RPC it is asked again).
class PartitionTensors {
 public:
  virtual ~PartitionTensors() = default;
  // True where asking costs no message: then looking for repeated rows costs more than answering them twice.
  virtual bool is_in_process() const { return false; }

  // `creation` 0, of partition 0, which keeps the register of names: rows with their first values under the next
  // number, or, where the name is taken, what has it; whether that fits is for the asker to say. Unavailable while
  // another act is making it; one that has not called Complete by its deadline has given up, and its rows are dropped.
  // Otherwise, of the others: rows of that number. They take the place of earlier ones of the register, which partition
  // 0 has dropped; Aborted where later ones have the name, or these have been dropped already; NotFound where rows of
  // another register have it: partition 0 has lost its part of them.
  //
  // AlreadyExists where an immutable column has the name. The first tensor of a newer incarnation takes the place of
  // all that older ones of its job have left; Aborted where a newer one has created any: a request that came before its
  // first one may be answered after it.
  virtual void Create(const TensorSpec& spec, uint64_t creation, Deadline deadline, Done<TensorDescription> done) = 0;
  // All partitions have the rows of this creation. Asked of partition 0. NotFound where it is not there any more.
  virtual void Complete(const TensorId& tensor, Deadline deadline, DoneStatus done) = 0;
  // NotFound names the tensors of the row space.
  virtual void Describe(const TensorId& tensor, Deadline deadline, Done<TensorDescription> done) = 0;
  // Nothing where it does not exist or another creation made it.
  virtual void Drop(const TensorId& tensor, Deadline deadline, DoneStatus done) = 0;
  // Drops what the act `maker` has made and not completed; FailedPrecondition where it is complete.
  virtual void Abandon(const TensorId& tensor, uint64_t maker, Deadline deadline, DoneStatus done) = 0;

  // Row i goes to its place of the sink. `rows` outlives the completion.
  virtual void Read(const TensorId& tensor, std::span<const LocalRowId> rows, RowSink sink, Deadline deadline,
                    DoneStatus done) = 0;
  // values: the tensor's dtype, [rows.size(), row_shape...], taken in their order. Rows may be repeated, but for
  // kAssign over RPC, where the last of them need not win.
  virtual void Write(const TensorId& tensor, RowWrite write, std::vector<LocalRowId> rows, Tensor values,
                     Deadline deadline, DoneStatus done) = 0;
  // Every row of `tensor` with that of the tensor `from` of the same rows, dtype and shape.
  virtual void Combine(const TensorId& tensor, RowWrite write, const TensorId& from, Deadline deadline,
                       DoneStatus done) = 0;

  // This partition's part of a reduction: ReducedDType [row elements]; a kSum of floating numbers: I64 [row elements,
  // ExactSum::kWords]. A kMin or kMax of no rows is FailedPrecondition.
  virtual void Reduce(const TensorId& tensor, Reduction reduction, Deadline deadline, Done<Tensor> done) = 0;
};

}  // namespace espalier::sampler
