// A distributed tensor: its rows are stored on the graph servers. The row of a node or edge is on the server that owns
// the node or edge. Rows that belong to no node or edge (own rows, RowSpace::Own) are divided equally among the
// servers. Counterpart of DGL's DistTensor. docs/dist-tensors.md has the guarantees and an example.
//
//   ASSIGN_OR_RETURN(DistTensor visits, DistTensor::Create(graph, {.rows = RowSpace::Nodes(paper),
//                                                                  .dtype = DType::kI64, .name = "visits"}));
//   RETURN_IF_ERROR(visits.AddRows(ToRowIds(nodes), ones));
//   ASSIGN_OR_RETURN(const uint64_t reached, visits.CountNonzero());
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/client/graph/dist_graph.h"
#include "services/sampler/routing/partitioned_tensors.h"

namespace espalier::client {

using sampler::Initializer;
using sampler::RowSpace;

// How long the rows exist. In both cases they do not outlive the job's incarnation (docs/dist-tensors.md).
enum class Lifetime {
  // For temporary results: until the owning handle is destroyed. The handle that created the rows owns them; moving it
  // transfers the ownership. Moving another handle of the same tensor into the owning handle does not drop the rows.
  kScoped,
  // Until a process drops them by name (DistTensor::Drop).
  kPersistent,
};

struct DistTensorOptions {
  RowSpace rows;
  std::vector<int64_t> row_shape = {};  // without the first dimension; empty: one value per row
  DType dtype = DType::kF32;
  std::string name = {};  // must pass graph::CheckName; empty: a unique name is generated
  Initializer initializer = {};
  Lifetime lifetime = Lifetime::kScoped;
};

// A handle to a distributed tensor. Any number of handles, in any processes, may refer to one tensor. At most one
// process at a time may assign the same row (WriteRows); any number of processes may call AddRows, MinRows, MaxRows and
// Or concurrently. Thread-safe except for moving, Keep, AttachAs and Detach. Calls with a deadline argument end at the
// deadline or when the deadline's stop is requested; without the argument they end after the call_timeout of the
// graph's context. After DeadlineExceeded or Cancelled a write may or may not have been applied. The handle holds a
// reference to the graph, whose destructor waits up to 10 seconds for rows that are being dropped.
class DistTensor {
 public:
  // Creates the tensor, or opens the existing tensor of that name with its current values if dtype and shape are the
  // same (AlreadyExists otherwise). Not a collective operation: no other process has to call it. NotFound: a tensor of
  // that name exists, but a server has lost its rows; it can be created again after Drop.
  static Result<DistTensor> Create(const DistGraph& graph, const DistTensorOptions& options);
  // Opens an existing tensor by name, no matter which process created it. NotFound: no tensor has that name (the
  // message lists the existing tensors), the tensor is still being created, or a server has lost its rows.
  // RowSpace::Own(), without a number of rows, opens a tensor of own rows with any number of rows.
  static Result<DistTensor> Open(const DistGraph& graph, const RowSpace& rows, const std::string& name);
  // Drops a tensor, no matter which process created it. OK if the tensor does not exist.
  static Status Drop(const DistGraph& graph, const RowSpace& rows, const std::string& name);

  // If this handle owns the rows of a scoped tensor, drops them in the background. The destructor does not wait for
  // other processes.
  ~DistTensor();
  DistTensor(DistTensor&&) noexcept;
  DistTensor& operator=(DistTensor&&) noexcept;

  const std::string& name() const { return tensor_.id.name; }
  DType dtype() const { return tensor_.dtype; }
  const RowSpace& rows() const { return tensor_.id.rows; }
  uint64_t num_rows() const { return num_rows_; }
  std::vector<int64_t> shape() const;  // [num_rows, row_shape...]
  // Returns true if Create created the rows, false if they already existed.
  bool made_by_this() const { return tensor_.made_by_this; }
  // Changes the lifetime of the rows to Lifetime::kPersistent, if this handle owns them.
  void Keep() { drops_rows_ = false; }

  // Returns rows in the order of `rows`, which may repeat: [rows.size(), row_shape...]. Row ids are the global ids of
  // nodes or edges (ToRowIds converts them), or the numbers of own rows.
  Result<Tensor> ReadRows(std::span<const GlobalRowId> rows, std::optional<Deadline> deadline = {}) const;
  // Assigns rows, which must be distinct. This write and all writes below are acknowledged: a read that starts after
  // the write has returned sees the written values, in any process. `values` has the tensor's dtype and shape
  // [rows.size(), row_shape...]; there is no broadcasting. Each row is written exactly once, or at most once if a
  // connection error or a timeout is returned. After such an error, a delayed message of this write does not overwrite
  // what this program writes later.
  Status WriteRows(std::span<const GlobalRowId> rows, const Tensor& values, std::optional<Deadline> deadline = {});
  // Add values to the rows, or take the elementwise minimum or maximum (RowWrite in tensor_spec.h). Rows may repeat,
  // and any number of processes may write to the same rows concurrently.
  Status AddRows(std::span<const GlobalRowId> rows, const Tensor& values, std::optional<Deadline> deadline = {});
  Status MinRows(std::span<const GlobalRowId> rows, const Tensor& values, std::optional<Deadline> deadline = {});
  Status MaxRows(std::span<const GlobalRowId> rows, const Tensor& values, std::optional<Deadline> deadline = {});
  // Replaces each row by its bitwise OR with the same row of `other`: the union of two masks. For Bool and integer
  // dtypes; both tensors must have the same row space, dtype and shape.
  Status Or(const DistTensor& other, std::optional<Deadline> deadline = {});

  // Returns the number of elements that are not 0.
  Result<uint64_t> CountNonzero(std::optional<Deadline> deadline = {}) const;
  // Returns, for each partition of the graph, how many elements of its rows are not 0; 0 for a partition without rows.
  Result<std::vector<uint64_t>> CountNonzeroByPartition(std::optional<Deadline> deadline = {}) const;
  // Return the elementwise reduction of all rows: [row_shape...], F64 for floating-point dtypes, I64 for signed
  // integers, U64 for unsigned integers and Bool; integer sums wrap around. The result has the same bits under every
  // partitioning: a floating-point sum is computed exactly and rounded once. FailedPrecondition: Min or Max of a tensor
  // without rows.
  Result<Tensor> Sum(std::optional<Deadline> deadline = {}) const;
  Result<Tensor> Min(std::optional<Deadline> deadline = {}) const;
  Result<Tensor> Max(std::optional<Deadline> deadline = {}) const;
  // Returns Sum divided by the number of rows: F64 [row_shape...]; NaN without rows.
  Result<Tensor> Mean(std::optional<Deadline> deadline = {}) const;

  // Makes the tensor readable as a column of the graph's nodes or edges (DistGraph::GatherNodeRows and GatherEdgeRows,
  // inputs of mini-batches of this DistGraph) until Detach or until this handle is destroyed. Sampling does not read
  // attached tensors: weights, masks and timestamps must be columns of the partition files (NotFound for a
  // weight_column that is attached). AlreadyExists: a column of the partition files has this name. A tensor that was
  // attached under this name before is replaced. InvalidArgument for own rows.
  Status AttachAs(const std::string& column);
  // Reverses AttachAs; no effect if this handle has attached no column of that name.
  void Detach(const std::string& column);

 private:
  DistTensor(const DistGraph& graph, sampler::TensorHandle tensor, Lifetime lifetime);
  Status WriteWith(sampler::RowWrite write, std::span<const GlobalRowId> rows, const Tensor& values,
                   std::optional<Deadline> deadline);
  Result<Tensor> Reduce(sampler::Reduction reduction, std::optional<Deadline> deadline) const;
  // Detaches all columns and, if this handle owns the rows, drops them.
  void Release() noexcept;

  std::shared_ptr<const DistGraph> graph_;  // null after a move
  sampler::TensorHandle tensor_;
  bool drops_rows_;  // whether the destructor drops the rows
  uint64_t num_rows_;
  std::vector<sampler::Attachment> attached_;
};

// Converts NotFound to Unavailable and returns any other status unchanged; for operations on a tensor that the program
// has already created or opened. NotFound from such an operation means that rows are lost: their server has ended, or
// the process that created them as a scoped tensor has ended. The program must then be restarted: a program that exits
// with the code of Unavailable (74) is restarted, but the code of NotFound (65, invalid input) ends the run. Not for
// Open, whose name may be wrong.
Status NotFoundToUnavailable(Status status);
template <class T>
Result<T> NotFoundToUnavailable(Result<T> result) {
  return result.ok() ? std::move(result) : Result<T>(NotFoundToUnavailable(std::move(result).status()));
}

// Converts global ids of nodes or edges to row ids of a tensor, in the same order.
template <class GlobalId>
std::vector<GlobalRowId> ToRowIds(const std::vector<GlobalId>& ids) {
  std::vector<GlobalRowId> rows(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) rows[i] = GlobalRowId(ids[i].value);
  return rows;
}

}  // namespace espalier::client
