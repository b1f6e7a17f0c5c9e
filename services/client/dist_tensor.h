// A tensor whose rows lie on the graph servers, each beside its node or edge, or in equal parts where it has rows of
// its own. What DGL calls DistTensor; docs/dist-tensors.md has the guarantees and an example.
//
//   ASSIGN_OR_RETURN(DistTensor visits, DistTensor::Create(graph, {.rows = RowSpace::Nodes(paper),
//                                                                  .dtype = DType::kI64, .name = "visits"}));
//   RETURN_IF_ERROR(visits.AddRows(RowsOf(nodes), ones));
//   ASSIGN_OR_RETURN(const uint64_t reached, visits.CountNonzero());
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/client/dist_graph.h"
#include "services/sampler/routing/partitioned_tensors.h"

namespace espalier::client {

using sampler::Initializer;
using sampler::RowSpace;

// How long the rows live.
enum class Lifetime {
  // Until the handle that made them ends, or at the latest the job's incarnation: for results that a program takes
  // away. (A handle that another one of the same tensor is assigned to passes this on.)
  kScoped,
  // Until they are dropped by name, or at the latest the job's incarnation: another process finds them by their name.
  kPersistent,
};

struct DistTensorOptions {
  RowSpace rows;
  std::vector<int64_t> row_shape = {};  // without the first dimension; none: one value a row
  DType dtype = DType::kF32;
  std::string name = {};  // as graph::CheckName takes it; empty: a name that nobody else gets
  Initializer initializer = {};
  Lifetime lifetime = Lifetime::kScoped;
};

// A handle. Any number of them, in any processes, may refer to one tensor; a row has one writing process at a time, but
// for the accumulating writes, which may come from everywhere at once. Thread-safe but for moving, attaching and
// detaching. Every call ends within the context's call_timeout. The graph outlives it, and waits a few seconds at its
// own end for rows that are being dropped.
class DistTensor {
 public:
  // Makes the tensor, or refers to the one of that name where dtype and shape are the same (AlreadyExists otherwise;
  // its values are as they are). No other process has to take part. NotFound: a server has lost its part of the tensor
  // that has the name; Drop by name lets it be made anew.
  static Result<DistTensor> Create(const DistGraph& graph, const DistTensorOptions& options);
  // The tensor of that name that somebody has made; NotFound names those that there are. RowSpace::Own() finds one of
  // own rows without knowing how many they are.
  static Result<DistTensor> Open(const DistGraph& graph, const RowSpace& rows, const std::string& name);
  // Drops a tensor whoever made it; dropping what does not exist is fine.
  static Status Drop(const DistGraph& graph, const RowSpace& rows, const std::string& name);

  // A scoped tensor's rows go with the handle that made them, in the background: no process waits for another.
  ~DistTensor();
  DistTensor(DistTensor&&) noexcept;
  DistTensor& operator=(DistTensor&&) noexcept;

  const std::string& name() const { return tensor_.id.name; }
  DType dtype() const { return tensor_.dtype; }
  const RowSpace& rows() const { return tensor_.id.rows; }
  uint64_t num_rows() const { return num_rows_; }
  std::vector<int64_t> shape() const;  // [num_rows, row_shape...]
  // True where Create made the rows, false where it found them.
  bool made_by_this() const { return tensor_.made_by_this; }
  // From now on the rows are Lifetime::kPersistent.
  void Keep() { drops_rows_ = false; }

  // Rows in the order of `rows`, repetitions allowed: [rows.size(), row_shape...]. They are global ids, of nodes, edges
  // or own rows (RowsOf makes them).
  Result<Tensor> ReadRows(std::span<const GlobalRowId> rows) const;
  // The writes are acknowledged: a read by anybody that starts after they return sees them. values: the tensor's dtype,
  // [rows.size(), row_shape...], no broadcasting. Each row is written once, or, where an error of the connection or of
  // time comes back, at most once, and not after a later write of this program.
  Status WriteRows(std::span<const GlobalRowId> rows, const Tensor& values);  // rows are distinct
  // Accumulating writes (tensor_spec.h, RowWrite): rows may be repeated, and any number of processes may write to the
  // same rows at once.
  Status AddRows(std::span<const GlobalRowId> rows, const Tensor& values);
  Status MinRows(std::span<const GlobalRowId> rows, const Tensor& values);
  Status MaxRows(std::span<const GlobalRowId> rows, const Tensor& values);
  // Every row with that of `other`: the union of two masks. Bool and integers; same rows, dtype and shape.
  Status Or(const DistTensor& other);

  // Over all elements.
  Result<uint64_t> CountNonzero() const;
  // The same by the partition that holds the rows.
  Result<std::vector<uint64_t>> CountNonzeroByPartition() const;
  // Over all rows, element by element: [row_shape...], F64 for floating dtypes, I64 or U64 for others (wrapping
  // around). The same bits for any partitioning: sums of floating numbers are rounded once, from an exact sum. Min and
  // Max of no rows are FailedPrecondition.
  Result<Tensor> Sum() const;
  Result<Tensor> Min() const;
  Result<Tensor> Max() const;
  // F64 [row_shape...]: Sum divided by the number of rows; NaN for no rows.
  Result<Tensor> Mean() const;

  // Reads as a column of the graph's nodes or edges from now on (DistGraph::NodeRows and EdgeRows, inputs of
  // mini-batches of this DistGraph), until it is detached or this handle ends. Draws do not read it: weights, masks and
  // times are columns of the partition's files (weight_column of such a name is NotFound). AlreadyExists: a column of
  // these nodes, or edges, has the name.
  Status AttachAs(const std::string& column);
  void Detach(const std::string& column);

 private:
  DistTensor(const DistGraph& graph, sampler::TensorHandle tensor, Lifetime lifetime);
  Status Put(sampler::RowWrite write, std::span<const GlobalRowId> rows, const Tensor& values);
  Result<Tensor> Reduce(sampler::Reduction reduction) const;
  void End() noexcept;

  const DistGraph* graph_;  // null once moved from
  sampler::TensorHandle tensor_;
  bool drops_rows_;  // at its end
  uint64_t num_rows_;
  std::vector<sampler::Attachment> attached_;
};

// What a program makes of a status of a tensor that it has made itself or found before: NotFound says there that rows
// are lost, with the server that held them or the peer whose scoped tensor they were, and the program is to end and to
// be started again. Unavailable with that reason then (exit code 74, where NotFound is 65, bad input, and ends a run);
// any other status as it is. Not for Open of a name that may be wrong.
Status RestartWhereLost(Status status);
template <class T>
Result<T> RestartWhereLost(Result<T> result) {
  return result.ok() ? std::move(result) : Result<T>(RestartWhereLost(std::move(result).status()));
}

// Ids of nodes or edges as rows of a tensor.
template <class GlobalId>
std::vector<GlobalRowId> RowsOf(const std::vector<GlobalId>& ids) {
  std::vector<GlobalRowId> rows(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) rows[i] = GlobalRowId(ids[i].value);
  return rows;
}

}  // namespace espalier::client
