// Reads rows of PartitionedGraph's node columns. A name is first looked up among the immutable columns of the graph.
// Their rows are requested from all owners concurrently, and the responses are written directly into their places in
// the result. Other names are looked up among the attached tensors, which PartitionedTensors reads.
#include <algorithm>
#include <cstring>
#include <limits>

#include "services/base/mutex.h"
#include "services/sampler/routing/partition_fan_out.h"
#include "services/sampler/routing/partitioned_graph_state.h"
#include "services/sampler/routing/row_routing.h"

namespace espalier::sampler {
namespace {

template <class Id>
std::vector<GlobalRowId> ToRowIds(std::span<const Id> ids) {
  std::vector<GlobalRowId> rows(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) rows[i] = GlobalRowId(ids[i].value);
  return rows;
}

Status CheckOutBytes(const std::string& column, size_t needed_bytes, std::span<const std::byte> out) {
  if (out.size() == needed_bytes) return Status();
  return InvalidArgument("the rows of '" + column + "' have " + std::to_string(needed_bytes) +
                         " bytes, but the memory for them has " + std::to_string(out.size()));
}

std::string FormatList(const std::string& names) { return names.empty() ? "none" : names; }

void AddName(const std::string& name, std::string& names) { names += (names.empty() ? "'" : ", '") + name + "'"; }

}  // namespace

PartitionedGraph::State::Gather PartitionedGraph::State::StartGather(const ColumnDescription& column,
                                                                     std::span<const GlobalNodeId> nodes,
                                                                     std::span<const uint32_t> places,
                                                                     std::shared_ptr<std::byte> rows,
                                                                     Deadline deadline) {
  Gather gather;
  gather.row_bytes = RowBytes(column.dtype, column.row_shape);
  gather.plan =
      PlanGather(RouteToOwners(description.book.NodeFirst(column.node_type), nodes), nodes.size(), in_process);
  if (!places.empty()) gather.plan->RedirectTo(places);
  gather.plan->rows = std::move(rows);
  const std::vector<PartitionId> requested = FindRequestedPartitions(gather.plan->locals);
  gather.answers = std::make_shared<PartitionFanOut<Nothing>>(requested, gather.plan);
  for (size_t k = 0; k < requested.size(); ++k) {
    const uint32_t p = requested[k].value;
    const RowSink sink{
        .out = gather.plan->rows.get(), .row_bytes = gather.row_bytes, .positions = gather.plan->positions[p]};
    partitions[p]->GatherRows(column.node_type, column.name, gather.plan->locals[p], sink, deadline,
                              gather.answers->StatusSlot(k));
  }
  return gather;
}

const ColumnDescription* PartitionedGraph::State::FindImmutable(NodeTypeId type, const std::string& name) const {
  for (const ColumnDescription& column : description.columns) {
    if (column.node_type == type && column.name == name) return &column;
  }
  return nullptr;
}

Status PartitionedGraph::State::CheckNoImmutable(const RowSpace& rows, const std::string& name) const {
  const auto has_name = [&](const EdgeColumnDescription& column) {
    return column.edge_type == EdgeTypeId(rows.type) && column.name == name;
  };
  bool is_taken = false;
  switch (rows.of) {
    case RowsOf::kNodes: is_taken = FindImmutable(NodeTypeId(rows.type), name) != nullptr; break;
    case RowsOf::kEdges:
      is_taken = std::any_of(description.edge_columns.begin(), description.edge_columns.end(), has_name);
      break;
    case RowsOf::kOwn: break;
  }
  if (!is_taken) return Status();
  return AlreadyExists("'" + name + "' is an immutable column of " + ToString(rows, description.book));
}

std::optional<TensorHandle> PartitionedGraph::State::FindAttached(const RowSpace& rows, const std::string& name) {
  MutexLock lock(&mutex);
  const auto found = attached.find({rows, name});
  if (found == attached.end()) return std::nullopt;
  return found->second.tensor;
}

Status PartitionedGraph::State::MakeNoColumnError(const RowSpace& rows, const std::string& name) {
  std::string existing;
  for (const ColumnDescription& column : description.columns) {
    if (rows == RowSpace::Nodes(column.node_type)) AddName(column.name, existing);
  }
  MutexLock lock(&mutex);
  for (const auto& [key, tensor] : attached) {
    if (key.first == rows) AddName(key.second, existing);
  }
  return NotFound(ToString(rows, description.book) + " has no column '" + name + "'; it has " + FormatList(existing));
}

Result<Tensor> PartitionedGraph::GatherRows(NodeTypeId type, const std::string& column,
                                            std::span<const GlobalNodeId> nodes, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodes(type, nodes));
  const ColumnDescription* const immutable = state_->FindImmutable(type, column);
  if (immutable == nullptr) {
    const std::optional<TensorHandle> tensor = state_->FindAttached(RowSpace::Nodes(type), column);
    if (!tensor) return state_->MakeNoColumnError(RowSpace::Nodes(type), column);
    return state_->tensors.Read(*tensor, ToRowIds(nodes), deadline);
  }
  std::vector<int64_t> shape = MakeRowsShape(nodes.size(), immutable->row_shape);
  RETURN_IF_ERROR(CheckedElementCount(shape, ItemSize(immutable->dtype)).status());
  const std::shared_ptr<std::byte> rows =
      state_->row_buffers.Take(nodes.size() * RowBytes(immutable->dtype, immutable->row_shape));
  const State::Gather gather = state_->StartGather(*immutable, nodes, {}, rows, deadline);
  RETURN_IF_ERROR(gather.answers->Wait(deadline).status());
  gather.plan->CopyRepeats(gather.row_bytes);
  return Tensor::Wrap(immutable->dtype, std::move(shape), rows.get(), rows);
}

Status PartitionedGraph::GatherRowsToPlaces(NodeTypeId type, const std::string& column,
                                            std::span<const GlobalNodeId> nodes, std::span<const uint32_t> places,
                                            std::shared_ptr<std::byte> out, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodes(type, nodes));
  const ColumnDescription* const immutable = state_->FindImmutable(type, column);
  if (immutable == nullptr) return RowSource::GatherRowsToPlaces(type, column, nodes, places, std::move(out), deadline);
  const State::Gather gather = state_->StartGather(*immutable, nodes, places, std::move(out), deadline);
  RETURN_IF_ERROR(gather.answers->Wait(deadline).status());
  gather.plan->CopyRepeats(gather.row_bytes);
  return Status();
}

bool PartitionedGraph::is_remote(PartitionId partition) const { return !state_->in_process[partition.value]; }

Status PartitionedGraph::GatherRowsInto(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                        std::span<std::byte> out, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodes(type, nodes));
  const ColumnDescription* const immutable = state_->FindImmutable(type, column);
  if (immutable == nullptr) {
    const std::optional<TensorHandle> tensor = state_->FindAttached(RowSpace::Nodes(type), column);
    if (!tensor) return state_->MakeNoColumnError(RowSpace::Nodes(type), column);
    RETURN_IF_ERROR(CheckOutBytes(column, nodes.size() * RowBytes(tensor->dtype, tensor->row_shape), out));
    ASSIGN_OR_RETURN(const Tensor rows, state_->tensors.Read(*tensor, ToRowIds(nodes), deadline));
    if (rows.size_bytes() != out.size())
      return Internal("'" + column + "' has another row size than when it was attached");
    if (!out.empty()) std::memcpy(out.data(), rows.bytes(), out.size());
    return Status();
  }
  const std::vector<int64_t> shape = MakeRowsShape(nodes.size(), immutable->row_shape);
  ASSIGN_OR_RETURN(const int64_t num_elements, CheckedElementCount(shape, ItemSize(immutable->dtype)));
  RETURN_IF_ERROR(CheckOutBytes(column, static_cast<size_t>(num_elements) * ItemSize(immutable->dtype), out));
  const std::shared_ptr<std::byte> rows(std::shared_ptr<void>(), out.data());  // refers to the caller's memory
  const State::Gather gather = state_->StartGather(*immutable, nodes, {}, rows, deadline);
  RETURN_IF_ERROR(gather.answers->WaitForAllUnbounded(deadline).status());
  gather.plan->CopyRepeats(gather.row_bytes);
  return Status();
}

Result<Attachment> PartitionedGraph::Attach(const std::string& column, const TensorHandle& tensor) {
  const RowSpace& rows = tensor.id.rows;
  RETURN_IF_ERROR(graph::CheckName("column", column));
  RETURN_IF_ERROR(CheckRowSpace(rows, book()));
  if (rows.of == RowsOf::kOwn) {
    return InvalidArgument("tensor '" + tensor.id.name +
                           "' has own rows; only tensors of nodes or edges can be attached as columns");
  }
  RETURN_IF_ERROR(state_->CheckNoImmutable(rows, column));
  MutexLock lock(&state_->mutex);
  const Attachment attachment{rows, column, ++state_->num_attachments};
  state_->attached[{rows, column}] = {tensor, attachment};
  return attachment;
}

void PartitionedGraph::Detach(const Attachment& attachment) {
  MutexLock lock(&state_->mutex);
  const auto found = state_->attached.find({attachment.rows, attachment.column});
  if (found == state_->attached.end() || found->second.attachment.number != attachment.number) return;
  state_->attached.erase(found);
}

PartitionedTensors& PartitionedGraph::tensors() { return state_->tensors; }
EmbeddingStore& PartitionedGraph::embeddings() { return state_->embeddings; }

Status PartitionedGraph::CreateTensor(NodeTypeId type, const std::string& name, DType dtype,
                                      const std::vector<int64_t>& row_shape, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodeType(type));
  RETURN_IF_ERROR(state_->CheckNoImmutable(RowSpace::Nodes(type), name));
  const TensorId id{RowSpace::Nodes(type), name, {}};
  ASSIGN_OR_RETURN(const TensorHandle tensor, state_->tensors.Create({id, dtype, row_shape, {}}, deadline));
  return Attach(name, tensor).status();
}

Status PartitionedGraph::WriteRows(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes,
                                   const Tensor& rows, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodes(type, nodes));
  if (rows.shape().empty() || static_cast<size_t>(rows.num_rows()) != nodes.size()) {
    return InvalidArgument("writing " + rows.ToString() + " to " + std::to_string(nodes.size()) + " rows of '" + name +
                           "', expected one row of values for each");
  }
  // The owners check whether the tensor exists with this dtype and shape.
  const std::vector<int64_t> row_shape(rows.shape().begin() + 1, rows.shape().end());
  const TensorHandle tensor{{RowSpace::Nodes(type), name, {}}, rows.dtype(), row_shape, false};
  return state_->tensors.Write(tensor, RowWrite::kAssign, ToRowIds(nodes), rows, deadline);
}

Status PartitionedGraph::DropTensor(NodeTypeId type, const std::string& name, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodeType(type));
  const TensorId tensor{RowSpace::Nodes(type), name, {}};
  {
    MutexLock lock(&state_->mutex);
    state_->attached.erase({tensor.rows, name});
  }
  return state_->tensors.Drop(tensor, deadline);
}

}  // namespace espalier::sampler
