// The C functions of EspalierHost, which plugins call through a table (services/plugin/espalier_plugin.h), and
// RunPlugin. Functions that take a type number check it. Plugins may be written in C, so the functions return errors as
// a status; append_response and the tensor functions also catch std::bad_alloc. Arrays are returned as views of the
// server's memory.
#include "services/server/plugin_host.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace espalier::server {
namespace {

constexpr size_t kMaxMessageBytes = 1024;

constexpr bool HasNumber(DType dtype, uint32_t number) { return static_cast<uint32_t>(dtype) == number; }
static_assert(HasNumber(DType::kBool, ESPALIER_BOOL) && HasNumber(DType::kU8, ESPALIER_U8) &&
              HasNumber(DType::kI8, ESPALIER_I8) && HasNumber(DType::kI16, ESPALIER_I16) &&
              HasNumber(DType::kI32, ESPALIER_I32) && HasNumber(DType::kI64, ESPALIER_I64) &&
              HasNumber(DType::kF16, ESPALIER_F16) && HasNumber(DType::kBF16, ESPALIER_BF16) &&
              HasNumber(DType::kF32, ESPALIER_F32) && HasNumber(DType::kF64, ESPALIER_F64) &&
              HasNumber(DType::kU16, ESPALIER_U16) && HasNumber(DType::kU32, ESPALIER_U32) &&
              HasNumber(DType::kU64, ESPALIER_U64));

EspalierArray MakeView(const Tensor& tensor) {
  return {tensor.bytes(), tensor.shape().data(), static_cast<uint32_t>(tensor.shape().size()),
          static_cast<uint32_t>(tensor.dtype())};
}

constexpr EspalierArray kNoArray = {nullptr, nullptr, 0, ESPALIER_NO_DTYPE};

bool IsNodeType(const EspalierCall* call, uint32_t type) { return type < call->book.schema().num_node_types(); }
bool IsEdgeType(const EspalierCall* call, uint32_t type) { return type < call->book.schema().num_edge_types(); }

int32_t FindColumn(const std::map<std::string, Tensor>& columns, const char* name, EspalierArray* out) {
  if (name == nullptr) return ESPALIER_NOT_FOUND;
  const auto found = columns.find(name);
  if (found == columns.end()) return ESPALIER_NOT_FOUND;
  *out = MakeView(found->second);
  return ESPALIER_OK;
}

uint32_t HostPartition(const EspalierCall* call) { return call->data.id.value; }
uint32_t HostNumPartitions(const EspalierCall* call) { return call->book.num_partitions(); }
uint32_t HostNumNodeTypes(const EspalierCall* call) {
  return static_cast<uint32_t>(call->book.schema().num_node_types());
}
uint32_t HostNumEdgeTypes(const EspalierCall* call) {
  return static_cast<uint32_t>(call->book.schema().num_edge_types());
}

const char* HostNodeTypeName(const EspalierCall* call, uint32_t type) {
  if (!IsNodeType(call, type)) return nullptr;
  return call->book.schema().NodeTypeName(NodeTypeId(static_cast<uint16_t>(type))).c_str();
}

int32_t HostEdgeType(const EspalierCall* call, uint32_t type, EspalierEdgeType* out) {
  if (!IsEdgeType(call, type)) return ESPALIER_NOT_FOUND;
  const graph::GraphSchema& schema = call->book.schema();
  const EdgeTypeId id(static_cast<uint16_t>(type));
  const graph::CanonicalEdgeType& names = schema.EdgeType(id);
  *out = {names.source.c_str(), names.relation.c_str(), names.destination.c_str(), schema.SourceOf(id).value,
          schema.DestinationOf(id).value};
  return ESPALIER_OK;
}

int32_t HostNodes(const EspalierCall* call, uint32_t type, EspalierNodes* out) {
  if (!IsNodeType(call, type)) return ESPALIER_NOT_FOUND;
  const NodeTypeId id(static_cast<uint16_t>(type));
  const graph::PartitionBook& book = call->book;
  *out = {book.NumOwnedNodes(call->data.id, id), book.NodeFirst(id)[call->data.id.value], book.num_nodes(id),
          MakeView(call->data.nodes[type].original_ids)};
  return ESPALIER_OK;
}

int32_t HostInEdges(const EspalierCall* call, uint32_t type, EspalierInEdges* out) {
  if (!IsEdgeType(call, type)) return ESPALIER_NOT_FOUND;
  const EdgeTypeId id(static_cast<uint16_t>(type));
  const graph::PartitionBook& book = call->book;
  const graph::Partition& data = call->data;
  const uint64_t count = book.NumOwnedEdges(data.id, id);
  const Tensor* const original_ids = type < data.original_edge_ids.size() ? &data.original_edge_ids[type] : nullptr;
  // An array that is not loaded is an empty tensor, whose length differs from `count` unless that is 0.
  const bool has_original_ids = original_ids != nullptr && original_ids->shape().size() == 1 &&
                                static_cast<uint64_t>(original_ids->num_elements()) == count;
  *out = {count,
          book.EdgeFirst(id)[data.id.value],
          book.num_edges(id),
          MakeView(data.in_edges[type].indptr),
          MakeView(data.in_edges[type].indices),
          has_original_ids ? MakeView(*original_ids) : kNoArray};
  return ESPALIER_OK;
}

int32_t HostNodeColumn(const EspalierCall* call, uint32_t type, const char* name, EspalierArray* out) {
  if (!IsNodeType(call, type) || name == nullptr) return ESPALIER_NOT_FOUND;
  const graph::OwnedNodes& nodes = call->data.nodes[type];
  if (std::strcmp(name, graph::kOriginalIdColumn) == 0) {
    *out = MakeView(nodes.original_ids);
    return ESPALIER_OK;
  }
  return FindColumn(nodes.columns, name, out);
}

int32_t HostEdgeColumn(const EspalierCall* call, uint32_t type, const char* name, EspalierArray* out) {
  if (!IsEdgeType(call, type) || type >= call->data.edge_columns.size()) return ESPALIER_NOT_FOUND;
  return FindColumn(call->data.edge_columns[type], name, out);
}

int32_t HostLocateNode(const EspalierCall* call, uint32_t type, uint64_t global_id, uint32_t* partition,
                       uint64_t* local_id) {
  const NodeTypeId id(static_cast<uint16_t>(type));
  if (!IsNodeType(call, type) || global_id >= call->book.num_nodes(id)) return ESPALIER_NOT_FOUND;
  const graph::NodeLocation location = call->book.Locate(id, GlobalNodeId(global_id));
  *partition = location.partition.value;
  *local_id = location.local.value;
  return ESPALIER_OK;
}

int64_t HostRemainingNs(const EspalierCall* call) {
  return std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::nanoseconds>(call->deadline.Remaining()).count());
}

int32_t HostShouldStop(const EspalierCall* call) {
  return call->deadline.HasPassed() || (call->is_cancelled && call->is_cancelled()) ? 1 : 0;
}

int32_t HostAppendResponse(EspalierCall* call, const void* data, size_t size_bytes) {
  if (call->is_over_limit || size_bytes > call->max_response_bytes - call->response.size()) {
    call->is_over_limit = true;
    return ESPALIER_RESOURCE_EXHAUSTED;
  }
  const auto* const bytes = static_cast<const uint8_t*>(data);
  try {
    if (size_bytes > 0) call->response.insert(call->response.end(), bytes, bytes + size_bytes);
  } catch (const std::bad_alloc&) {  // an exception must not propagate into C code
    call->is_out_of_memory = true;
    return ESPALIER_RESOURCE_EXHAUSTED;
  }
  return ESPALIER_OK;
}

// Stores the plugin's error text. Bytes other than printable ASCII become '?', because the text of a gRPC status must
// be UTF-8, which the plugin's text might not be.
void HostSetError(EspalierCall* call, const char* message) {
  if (message == nullptr) return;
  call->message.assign(message, strnlen(message, kMaxMessageBytes));
  std::replace_if(
      call->message.begin(), call->message.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
}

// Calls `operation` with the call's tensors and stores its status, whose message the plugin can read with `error`.
template <class Operation>
int32_t CallTensors(EspalierCall* call, Operation operation) {
  Status status = FailedPrecondition("initializers cannot access tensors");
  try {
    if (call->tensors != nullptr) status = operation(*call->tensors);
  } catch (const std::bad_alloc&) {  // an exception must not propagate into C code
    status = ResourceExhausted("out of memory for rows of a tensor");
  }
  const auto code = static_cast<int32_t>(status.code());
  call->tensor_error = std::move(status);
  return code;
}

int32_t HostFindTensor(EspalierCall* call, uint32_t rows_of, uint32_t type, const char* name, EspalierTensor* out) {
  return CallTensors(call, [&](PluginTensors& tensors) { return tensors.Find(rows_of, type, name, out); });
}

int32_t HostReadRows(EspalierCall* call, uint32_t tensor, const EspalierTensorRows* rows) {
  return CallTensors(call, [&](PluginTensors& tensors) {
    return rows != nullptr ? tensors.Read(tensor, *rows) : InvalidArgument("read_rows was given null");
  });
}

int32_t HostChangeRows(EspalierCall* call, uint32_t tensor, uint32_t how, const EspalierTensorRows* rows) {
  return CallTensors(call, [&](PluginTensors& tensors) {
    return rows != nullptr ? tensors.Change(tensor, how, *rows) : InvalidArgument("change_rows was given null");
  });
}

const char* HostError(const EspalierCall* call) { return call->tensor_error.message().c_str(); }

constexpr EspalierHost kHost = {.partition = HostPartition,
                                .num_partitions = HostNumPartitions,
                                .num_node_types = HostNumNodeTypes,
                                .num_edge_types = HostNumEdgeTypes,
                                .node_type_name = HostNodeTypeName,
                                .edge_type = HostEdgeType,
                                .nodes = HostNodes,
                                .in_edges = HostInEdges,
                                .node_column = HostNodeColumn,
                                .edge_column = HostEdgeColumn,
                                .locate_node = HostLocateNode,
                                .remaining_ns = HostRemainingNs,
                                .should_stop = HostShouldStop,
                                .append_response = HostAppendResponse,
                                .set_error = HostSetError,
                                .find_tensor = HostFindTensor,
                                .read_rows = HostReadRows,
                                .change_rows = HostChangeRows,
                                .error = HostError};

// Returns whether espalier_plugin.h defines `status` as an error. Clients interpret other codes in their own way:
// ABORTED, for example, means an older incarnation.
bool IsPluginStatus(int32_t status) {
  switch (status) {
    case ESPALIER_INVALID_ARGUMENT:
    case ESPALIER_DEADLINE_EXCEEDED:
    case ESPALIER_NOT_FOUND:
    case ESPALIER_RESOURCE_EXHAUSTED:
    case ESPALIER_FAILED_PRECONDITION:
    case ESPALIER_OUT_OF_RANGE:
    case ESPALIER_INTERNAL:
    case ESPALIER_UNAVAILABLE: return true;
    default: return false;
  }
}

}  // namespace

const EspalierHost& PluginHost() { return kHost; }

// The catch clauses are for plugins written without plugin.h, which would catch their exceptions.
Status RunPlugin(const std::string& what, EspalierCall* call, const std::function<int32_t()>& run) {
  int32_t status = ESPALIER_INTERNAL;
  try {
    status = run();
  } catch (const std::exception& error) {
    HostSetError(call, error.what());
  } catch (...) {
    HostSetError(call, "it threw an exception that is not a std::exception");
  }
  if (call->is_out_of_memory) return ResourceExhausted(what + ": out of memory for the response");
  if (call->is_over_limit) {
    return ResourceExhausted(what + ": its response has more than " + std::to_string(call->max_response_bytes) +
                             " bytes");
  }
  if (status == ESPALIER_OK) return Status();
  if (!IsPluginStatus(status)) {
    return Internal(what + ": it ended with status " + std::to_string(status) +
                    ", which is not a plugin status: " + call->message);
  }
  const auto code = static_cast<StatusCode>(status);
  if (call->message.empty() && code == call->tensor_error.code()) {
    HostSetError(call, call->tensor_error.message().c_str());
  }
  return Status(code, what + ": " + (call->message.empty() ? "it failed" : call->message));
}

}  // namespace espalier::server
