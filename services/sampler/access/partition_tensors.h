// The interface to the owner of one partition's part of mutable tensors; rows are identified by local ids.
// `shard::MutableTensors` implements it in the owner's process, `client::RemoteTensors` calls a server over gRPC, and
// PartitionedTensors combines the responses of all partitions.
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

// A partition's description of a tensor.
struct TensorDescription {
  DType dtype = DType::kF32;
  std::vector<int64_t> row_shape;
  // The creation number. Its upper 32 bits identify the register of names that assigned it. A register belongs to one
  // process of partition 0: a restarted server begins another. Within a register, later creations have larger numbers.
  uint64_t creation = 0;
  uint64_t maker = 0;         // the creator: TensorSpec::maker
  uint64_t num_own_rows = 0;  // in all partitions; 0 for rows of nodes and edges
  // In partition 0: whether all partitions have the tensor's rows. In other partitions: whether this one has them.
  bool is_complete = true;
};

// Thread-safe. Arguments are untrusted (they come from RPCs): unknown names, arguments that do not fit and excessive
// requests return NotFound, InvalidArgument or ResourceExhausted, and never cause undefined behavior. Every change is
// applied once, even if its message is repeated; a read that starts after the change has completed sees it. A change is
// applied completely or not at all; over RPC, this holds for each of the pieces into which a large Write is split.
// Unavailable: the rows are being created or filled (over RPC, the client retries).
class PartitionTensors {
 public:
  virtual ~PartitionTensors() = default;
  // Returns whether the partition is in this process, so that calls need no messages. Callers then need not remove
  // repeated rows from a request: this would cost more than reading a row twice.
  virtual bool is_in_process() const { return false; }

  // Creates rows with their first values. Partition 0 keeps the register of names and is called first, with `creation`
  // 0: it creates its rows under the next number or, if the name is taken, returns the tensor that has the name; the
  // caller checks whether that tensor fits. Unavailable: another maker is creating the tensor. If a maker has not
  // called Complete by the deadline of its Create, its rows are dropped by the next maker's Create. The other
  // partitions are called with the number that partition 0 has returned. There the new rows replace rows of the same
  // name and register with a lower number; partition 0 has already dropped its part of that tensor. Aborted: rows with
  // a higher number have the name, or the rows with this number have been dropped already. NotFound: rows of another
  // register have the name, so partition 0 has lost its part of their tensor.
  //
  // AlreadyExists if the name is that of an immutable column, or of a tensor with another number of own rows. The first
  // Create of a newer incarnation drops all tensors of the job's older incarnations. After it, a Create of an older
  // incarnation, which may arrive late, returns Aborted.
  virtual void Create(const TensorSpec& spec, uint64_t creation, Deadline deadline, Done<TensorDescription> done) = 0;
  // Records that all partitions have the rows of this creation. Called on partition 0. NotFound if the tensor no longer
  // exists.
  virtual void Complete(const TensorId& tensor, Deadline deadline, DoneStatus done) = 0;
  // Returns the tensor's description. The message of NotFound lists the existing tensors of the row space.
  virtual void Describe(const TensorId& tensor, Deadline deadline, Done<TensorDescription> done) = 0;
  // Drops the tensor if it exists; keeps one with another creation number. A Create with the creation number of
  // `tensor` that arrives later returns Aborted.
  virtual void Drop(const TensorId& tensor, Deadline deadline, DoneStatus done) = 0;
  // Drops the incomplete tensor that `maker` created. Does nothing if that tensor does not exist. FailedPrecondition:
  // the tensor is complete.
  virtual void Abandon(const TensorId& tensor, uint64_t maker, Deadline deadline, DoneStatus done) = 0;

  // Copies row rows[i] to the sink as its row i. `rows` outlives the completion.
  virtual void Read(const TensorId& tensor, std::span<const LocalRowId> rows, RowSink sink, Deadline deadline,
                    DoneStatus done) = 0;
  // Writes rows. values: the tensor's dtype, [rows.size(), row_shape...]. Rows may be repeated: their values are
  // applied in order, except that with kAssign over RPC, a repeated row gets any one of its values.
  virtual void Write(const TensorId& tensor, RowWrite write, std::vector<LocalRowId> rows, Tensor values,
                     Deadline deadline, DoneStatus done) = 0;
  // Combines every row of `tensor` with the same row of the tensor `from`, which must have the same row space, dtype
  // and row shape.
  virtual void Combine(const TensorId& tensor, RowWrite write, const TensorId& from, Deadline deadline,
                       DoneStatus done) = 0;

  // Returns this partition's part of a reduction: ReducedDType [row elements]; for a kSum of floating-point numbers,
  // I64 [row elements, ExactSum::kWords]. FailedPrecondition for kMin or kMax of no rows.
  virtual void Reduce(const TensorId& tensor, Reduction reduction, Deadline deadline, Done<Tensor> done) = 0;
};

}  // namespace espalier::sampler
