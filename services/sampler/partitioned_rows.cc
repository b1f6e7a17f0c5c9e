// PartitionedGraph's rows: gathered from their owners straight into their places, and mutable tensors.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"
#include "services/sampler/owner_route.h"
#include "services/sampler/partition_fan_out.h"
#include "services/sampler/partitioned_graph_state.h"

namespace espalier::sampler {
namespace {

size_t RowBytes(const ColumnDescription& column) {
  size_t bytes = SizeOf(column.dtype);
  for (const int64_t dimension : column.row_shape) bytes *= static_cast<size_t>(dimension);
  return bytes;
}

std::vector<int64_t> ShapeOf(const ColumnDescription& column, size_t num_rows) {
  std::vector<int64_t> shape = {static_cast<int64_t>(num_rows)};
  shape.insert(shape.end(), column.row_shape.begin(), column.row_shape.end());
  return shape;
}

// What a gather's questions point into; lives until the last answer.
struct Gather {
  std::vector<std::vector<LocalNodeId>> locals;  // [partitions] rows to ask for
  std::vector<std::vector<uint32_t>> positions;  // [partitions] where each goes
  struct Repeat {
    uint32_t from, to;
  };
  std::vector<Repeat> repeats;  // rows to copy once all are there
  std::shared_ptr<std::byte> rows;
};

void AskOnce(std::vector<LocalNodeId> locals, std::vector<uint32_t> positions, uint32_t p, Gather& gather) {
  absl::flat_hash_map<uint32_t, uint32_t> first_position;
  first_position.reserve(locals.size());
  for (size_t i = 0; i < locals.size(); ++i) {
    const auto [found, is_new] = first_position.try_emplace(locals[i].value, positions[i]);
    if (is_new) {
      gather.locals[p].push_back(locals[i]);
      gather.positions[p].push_back(positions[i]);
    } else {
      gather.repeats.push_back({found->second, positions[i]});
    }
  }
}

std::shared_ptr<Gather> PlanGather(std::span<const uint64_t> first, std::span<const GlobalNodeId> nodes,
                                   const std::vector<std::shared_ptr<PartitionAccess>>& partitions) {
  const auto gather = std::make_shared<Gather>();
  OwnerRoute route = RouteToOwners(first, nodes);
  std::vector<std::vector<uint32_t>> positions(partitions.size());
  if (route.owner.empty()) {
    positions[0].resize(nodes.size());
    std::iota(positions[0].begin(), positions[0].end(), 0u);
  } else {
    for (size_t p = 0; p < partitions.size(); ++p) positions[p].reserve(route.locals[p].size());
    for (uint32_t i = 0; i < nodes.size(); ++i) positions[route.owner[i]].push_back(i);
  }
  gather->locals.resize(partitions.size());
  gather->positions.resize(partitions.size());
  for (uint32_t p = 0; p < partitions.size(); ++p) {
    if (partitions[p]->is_in_process()) {
      gather->locals[p] = std::move(route.locals[p]);
      gather->positions[p] = std::move(positions[p]);
    } else {
      AskOnce(std::move(route.locals[p]), std::move(positions[p]), p, *gather);
    }
  }
  return gather;
}

std::vector<PartitionId> AskedPartitions(const std::vector<std::vector<LocalNodeId>>& locals) {
  std::vector<PartitionId> asked;
  for (uint32_t p = 0; p < locals.size(); ++p) {
    if (!locals[p].empty()) asked.push_back(PartitionId(p));
  }
  return asked;
}

std::vector<PartitionId> AllPartitions(size_t count) {
  std::vector<PartitionId> all;
  for (uint32_t p = 0; p < count; ++p) all.push_back(PartitionId(p));
  return all;
}

// The rows that one partition gets, in the order of its ids.
std::vector<Tensor> SplitRows(const Tensor& rows, const OwnerRoute& route) {
  if (route.owner.empty()) return {rows};
  std::vector<Tensor> parts;
  std::vector<std::byte*> next;
  for (const auto& locals : route.locals) {
    std::vector<int64_t> shape = rows.shape();
    shape[0] = static_cast<int64_t>(locals.size());
    parts.push_back(Tensor::Zeros(rows.dtype(), std::move(shape)));
    next.push_back(parts.back().mutable_bytes());
  }
  const size_t row_bytes = rows.row_bytes();
  for (size_t i = 0; i < route.owner.size(); ++i) {
    std::memcpy(next[route.owner[i]], rows.bytes() + i * row_bytes, row_bytes);
    next[route.owner[i]] += row_bytes;
  }
  return parts;
}

}  // namespace

Result<ColumnDescription> PartitionedGraph::State::FindColumn(NodeTypeId type, const std::string& name) {
  RETURN_IF_ERROR(CheckNodeType(type));
  std::string existing;
  const auto matches = [&](const ColumnDescription& column) {
    if (column.node_type != type) return false;
    existing += (existing.empty() ? "'" : ", '") + column.name + "'";
    return column.name == name;
  };
  for (const ColumnDescription& column : description.columns) {
    if (matches(column)) return column;
  }
  MutexLock lock(&mutex);
  for (const ColumnDescription& column : mutable_columns) {
    if (matches(column)) return column;
  }
  return NotFound("node type '" + description.book.schema().NodeTypeName(type) + "' has no column '" + name +
                  "'; it has " + (existing.empty() ? "none" : existing));
}

Result<Tensor> PartitionedGraph::GatherRows(NodeTypeId type, const std::string& column,
                                            std::span<const GlobalNodeId> nodes, Deadline deadline) {
  ASSIGN_OR_RETURN(const ColumnDescription description, state_->FindColumn(type, column));
  RETURN_IF_ERROR(state_->CheckNodes(type, nodes));
  std::vector<int64_t> shape = ShapeOf(description, nodes.size());
  RETURN_IF_ERROR(CheckedElementCount(shape, SizeOf(description.dtype)).status());
  const size_t row_bytes = RowBytes(description);

  const std::shared_ptr<Gather> gather = PlanGather(book().NodeFirst(type), nodes, state_->partitions);
  gather->rows = state_->row_buffers.Take(nodes.size() * row_bytes);
  const std::vector<PartitionId> asked = AskedPartitions(gather->locals);
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(asked, gather);
  for (size_t k = 0; k < asked.size(); ++k) {
    const uint32_t p = asked[k].value;
    const RowSink sink{.out = gather->rows.get(), .row_bytes = row_bytes, .positions = gather->positions[p]};
    state_->partitions[p]->GatherRows(type, column, gather->locals[p], sink, deadline, fan_out->StatusSlot(k));
  }
  RETURN_IF_ERROR(fan_out->Wait(deadline).status());

  std::byte* const rows = gather->rows.get();
  for (const auto& [from, to] : gather->repeats) {
    std::memcpy(rows + to * row_bytes, rows + from * row_bytes, row_bytes);
  }
  return Tensor::Wrap(description.dtype, std::move(shape), rows, gather->rows);
}

Status PartitionedGraph::CreateTensor(NodeTypeId type, const std::string& name, DType dtype,
                                      const std::vector<int64_t>& row_shape, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodeType(type));
  RETURN_IF_ERROR(CheckedElementCount(row_shape, SizeOf(dtype)).status());
  for (const ColumnDescription& column : state_->description.columns) {
    if (column.node_type == type && column.name == name) {
      return AlreadyExists("'" + name + "' is an immutable column of node type '" + book().schema().NodeTypeName(type) +
                           "'");
    }
  }
  const std::vector<PartitionId> asked = AllPartitions(state_->partitions.size());
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(asked, nullptr);
  for (size_t p = 0; p < asked.size(); ++p) {
    state_->partitions[p]->CreateTensor(type, name, dtype, row_shape, deadline, fan_out->StatusSlot(p));
  }
  RETURN_IF_ERROR(fan_out->Wait(deadline).status());
  MutexLock lock(&state_->mutex);
  std::erase_if(state_->mutable_columns,
                [&](const ColumnDescription& column) { return column.node_type == type && column.name == name; });
  state_->mutable_columns.push_back({type, name, dtype, row_shape});
  return {};
}

Status PartitionedGraph::WriteRows(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes,
                                   const Tensor& rows, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodes(type, nodes));
  if (rows.shape().empty() || static_cast<size_t>(rows.num_rows()) != nodes.size()) {
    return InvalidArgument("writing " + rows.ToString() + " to " + std::to_string(nodes.size()) + " rows of '" + name +
                           "'");
  }
  OwnerRoute route = RouteToOwners(book().NodeFirst(type), nodes);
  std::vector<Tensor> parts = SplitRows(rows, route);
  const std::vector<PartitionId> asked = AskedPartitions(route.locals);
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(asked, nullptr);
  for (size_t k = 0; k < asked.size(); ++k) {
    const uint32_t p = asked[k].value;
    state_->partitions[p]->WriteRows(type, name, std::move(route.locals[p]), std::move(parts[p]), deadline,
                                     fan_out->StatusSlot(k));
  }
  return fan_out->Wait(deadline).status();
}

Status PartitionedGraph::DropTensor(NodeTypeId type, const std::string& name, Deadline deadline) {
  RETURN_IF_ERROR(state_->CheckNodeType(type));
  {
    MutexLock lock(&state_->mutex);
    std::erase_if(state_->mutable_columns,
                  [&](const ColumnDescription& column) { return column.node_type == type && column.name == name; });
  }
  const std::vector<PartitionId> asked = AllPartitions(state_->partitions.size());
  const auto fan_out = std::make_shared<PartitionFanOut<Nothing>>(asked, nullptr);
  for (size_t p = 0; p < asked.size(); ++p) {
    state_->partitions[p]->DropTensor(type, name, deadline, fan_out->StatusSlot(p));
  }
  return fan_out->Wait(deadline).status();
}

}  // namespace espalier::sampler
