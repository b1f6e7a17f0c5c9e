// A tensor whose rows are on the graph servers: the row of a node or edge on the server that owns it, other rows in
// equal parts. Counterpart of DGL's DistTensor; docs/dist-tensors.md has the guarantees and an example.
//
//   ASSIGN_OR_RETURN(DistTensor visits, DistTensor::Create(graph, {.rows = RowSpace::Nodes(paper),
//                                                                  .dtype = DType::kI64, .name = "visits"}));
//   RETURN_IF_ERROR(visits.AddRows(ToRowIds(nodes), ones));
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

// Lifetime of the rows of a tensor.
enum class Lifetime {
  // The rows are dropped with the handle that created them, at the latest at the end of the job's incarnation.
  // Assigning
  // another handle of the same tensor to that handle transfers the ownership.
  kScoped,
  // The rows stay until they are dropped by name, at the latest until the end of the job's incarnation. Other processes
  // open the tensor by its name.
  kPersistent,
};

struct DistTensorOptions {
  RowSpace rows;
  std::vector<int64_t> row_shape = {};  // without the first dimension; empty: one value per row
  DType dtype = DType::kF32;
  std::string name = {};  // valid for graph::CheckName; empty: a unique name
  Initializer initializer = {};
  Lifetime lifetime = Lifetime::kScoped;
};

// A handle of a tensor. Any number of handles, in any processes, may refer to one tensor. Only one process at a time
// may write a row, except with the accumulating writes, which are allowed concurrently. Thread-safe except for moving,
// attaching and detaching. Every call ends within the context's call_timeout. The graph must outlive the handle; its
// destructor waits a few seconds for rows that are being dropped.
class DistTensor {
 public:
  // Creates the tensor, or opens the existing one of that name, with its values, if dtype and shape are the same
  // (AlreadyExists otherwise). Not a collective call. NotFound: a server has lost its part of the existing tensor; call
  // Drop, then Create.
  static Result<DistTensor> Create(const DistGraph& graph, const DistTensorOptions& options);
  // Opens an existing tensor. NotFound lists the tensors that exist. For a tensor with its own rows, RowSpace::Own()
  // without a number is enough.
  static Result<DistTensor> Open(const DistGraph& graph, const RowSpace& rows, const std::string& name);
  // Drops a tensor, also one that another process created. OK if it does not exist.
  static Status Drop(const DistGraph& graph, const RowSpace& rows, const std::string& name);

  // Drops the rows of a scoped tensor that this handle created, in the background.
  ~DistTensor();
  DistTensor(DistTensor&&) noexcept;
  DistTensor& operator=(DistTensor&&) noexcept;

  const std::string& name() const { return tensor_.id.name; }
  DType dtype() const { return tensor_.dtype; }
  const RowSpace& rows() const { return tensor_.id.rows; }
  uint64_t num_rows() const { return num_rows_; }
  std::vector<int64_t> shape() const;  // [num_rows, row_shape...]
  // Returns true if Create created the rows, false if the tensor existed.
  bool made_by_this() const { return tensor_.made_by_this; }
  // Changes the lifetime of the rows to Lifetime::kPersistent.
  void Keep() { drops_rows_ = false; }

  // Returns the rows in the order of `rows`, which may repeat: [rows.size(), row_shape...]. `rows` are global ids of
  // nodes or edges (see ToRowIds) or numbers of own rows.
  Result<Tensor> ReadRows(std::span<const GlobalRowId> rows) const;
  // Writes rows. A read of any process that starts after the call returned sees the new values. `values` have the dtype
  // of the tensor and the shape [rows.size(), row_shape...]; there is no broadcasting. Each row is written exactly
  // once, or at most once if a connection error or deadline is returned, and never after a later write of this program.
  Status WriteRows(std::span<const GlobalRowId> rows, const Tensor& values);  // rows are distinct
  // Accumulating writes (RowWrite in tensor_spec.h). `rows` may repeat, and any number of processes may write the same
  // rows concurrently.
  Status AddRows(std::span<const GlobalRowId> rows, const Tensor& values);
  Status MinRows(std::span<const GlobalRowId> rows, const Tensor& values);
  Status MaxRows(std::span<const GlobalRowId> rows, const Tensor& values);
  // Bitwise or with another tensor, element by element: the union of two masks. Bool and integer dtypes; rows, dtype
  // and shape must be the same.
  Status Or(const DistTensor& other);

  // Returns the number of elements that are not 0.
  Result<uint64_t> CountNonzero() const;
  // Returns the same for the rows of each partition.
  Result<std::vector<uint64_t>> CountNonzeroByPartition() const;
  // Reduce over all rows, element by element: [row_shape...], F64 for floating dtypes, I64 or U64 for others (wrapping
  // around). The result has the same bits for any partitioning: a floating sum is exact and rounded once. Min and Max
  // of no rows: FailedPrecondition.
  Result<Tensor> Sum() const;
  Result<Tensor> Min() const;
  Result<Tensor> Max() const;
  // Returns Sum divided by the number of rows: F64 [row_shape...]; NaN for no rows.
  Result<Tensor> Mean() const;

  // Makes the tensor readable as a node or edge column of this DistGraph (GatherNodeRows, GatherEdgeRows, inputs of
  // mini-batches) until it is detached or this handle is destroyed. Sampling does not read attached tensors: weights,
  // masks and timestamps must be columns of the partitions. AlreadyExists: the node or edge type has a column of that
  // name.
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

// Returns Unavailable for NotFound, and any other status unchanged. For calls on a tensor that the program has created
// or opened before: there NotFound means that rows were lost, with a server or with the process that owned the scoped
// tensor, and the program should exit with 74 (Unavailable) to be restarted, not with 65 (bad input), which ends a run.
// Do not use it for Open of a name that may be wrong.
Status RestartWhereLost(Status status);
template <class T>
Result<T> RestartWhereLost(Result<T> result) {
  return result.ok() ? std::move(result) : Result<T>(RestartWhereLost(std::move(result).status()));
}

// Converts node or edge ids to row ids of a tensor.
template <class GlobalId>
std::vector<GlobalRowId> ToRowIds(const std::vector<GlobalId>& ids) {
  std::vector<GlobalRowId> rows(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) rows[i] = GlobalRowId(ids[i].value);
  return rows;
}

}  // namespace espalier::client
