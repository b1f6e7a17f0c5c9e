// Describe is called on all servers concurrently. A response is untrusted: types, dtypes, shapes, ranges and partition
// numbers are validated before they are used.
#include "services/client/session/describe.h"

#include <future>
#include <limits>
#include <utility>

#include "services/graph/feature_scales.h"
#include "services/rpc/call.h"

namespace espalier::client {
namespace {

constexpr const char* kDescribe = "/espalier.graph.v1.GraphStore/Describe";

std::vector<std::vector<uint64_t>> ParseRanges(const google::protobuf::RepeatedPtrField<graph::v1::Ranges>& ranges) {
  std::vector<std::vector<uint64_t>> firsts;
  for (const graph::v1::Ranges& range : ranges) firsts.emplace_back(range.first().begin(), range.first().end());
  return firsts;
}

Result<graph::PartitionBook> ParseBook(const graph::v1::PartitionBook& book) {
  constexpr int kMaxTypes = std::numeric_limits<uint16_t>::max();
  if (book.node_types_size() > kMaxTypes || book.edge_types_size() > kMaxTypes) {
    return InvalidArgument("more than " + std::to_string(kMaxTypes) + " node types or edge types");
  }
  std::vector<graph::CanonicalEdgeType> edge_types;
  for (const graph::v1::EdgeType& type : book.edge_types()) {
    edge_types.push_back({type.source(), type.relation(), type.destination()});
  }
  const std::vector<std::string> node_types(book.node_types().begin(), book.node_types().end());
  ASSIGN_OR_RETURN(graph::GraphSchema schema, graph::GraphSchema::Make(node_types, edge_types));
  // Ranges are in the order of the types in the response, so the types must be in the order of GraphSchema.
  if (schema.node_types() != node_types || schema.edge_types() != edge_types) {
    return InvalidArgument("node types or edge types are not sorted");
  }
  return graph::PartitionBook::Make(std::move(schema), ParseRanges(book.node_ranges()),
                                    ParseRanges(book.edge_ranges()));
}

// Validates a column, which is a graph::v1::Column or EdgeColumn, and returns its row shape. `type` is the node or edge
// type of the column; InvalidArgument if it is not less than `num_types`.
template <class Column>
Result<std::vector<int64_t>> ParseRowShape(const Column& column, uint32_t type, size_t num_types) {
  if (type >= num_types || column.dtype() > 0xff || !IsValidDType(static_cast<uint8_t>(column.dtype()))) {
    return InvalidArgument("column '" + column.name() + "' has an unknown type or dtype: type " + std::to_string(type) +
                           ", dtype " + std::to_string(column.dtype()));
  }
  std::vector<int64_t> row_shape(column.row_shape().begin(), column.row_shape().end());
  const size_t value_bytes = ItemSize(static_cast<DType>(column.dtype()));
  const Status is_valid = CheckedElementCount(row_shape, value_bytes).status();
  if (!is_valid.ok()) return InvalidArgument("column '" + column.name() + "': " + is_valid.message());
  return row_shape;
}

Result<std::vector<sampler::ColumnDescription>> ParseColumns(const graph::v1::DescribeResponse& response,
                                                             size_t num_node_types) {
  std::vector<sampler::ColumnDescription> columns;
  for (const graph::v1::Column& column : response.columns()) {
    ASSIGN_OR_RETURN(std::vector<int64_t> row_shape, ParseRowShape(column, column.node_type(), num_node_types));
    sampler::ColumnDescription& parsed =
        columns.emplace_back(sampler::ColumnDescription{NodeTypeId(static_cast<uint16_t>(column.node_type())),
                                                        column.name(),
                                                        static_cast<DType>(column.dtype()),
                                                        std::move(row_shape),
                                                        {column.scales().begin(), column.scales().end()}});
    if (parsed.scales.empty()) continue;
    uint64_t width = 1;
    for (const int64_t size : parsed.row_shape) width *= static_cast<uint64_t>(size);
    RETURN_IF_ERROR(graph::CheckScales(parsed.dtype, width, parsed.scales).While("column '" + parsed.name + "'"));
  }
  return columns;
}

Result<std::vector<sampler::EdgeColumnDescription>> ParseEdgeColumns(const graph::v1::DescribeResponse& response,
                                                                     size_t num_edge_types) {
  std::vector<sampler::EdgeColumnDescription> columns;
  for (const graph::v1::EdgeColumn& column : response.edge_columns()) {
    ASSIGN_OR_RETURN(std::vector<int64_t> row_shape, ParseRowShape(column, column.edge_type(), num_edge_types));
    columns.push_back({EdgeTypeId(static_cast<uint16_t>(column.edge_type())), column.name(),
                       static_cast<DType>(column.dtype()), std::move(row_shape)});
  }
  return columns;
}

grpc::ByteBuffer EncodeDescribeRequest(const std::string& job) {
  graph::v1::DescribeRequest request;
  request.set_job(job);
  const grpc::Slice message(request.SerializeAsString());
  return grpc::ByteBuffer(&message, 1);
}

Result<ServerDescription> DecodeDescription(const Result<grpc::ByteBuffer>& reply, const std::string& address) {
  if (!reply.ok()) return reply.status();
  std::vector<grpc::Slice> slices;
  if (!reply->Dump(&slices).ok()) return Internal("cannot read the description of " + address);
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  graph::v1::DescribeResponse response;
  if (!response.ParseFromString(bytes))
    return InvalidArgument(address + " sent an invalid description: it is not a graph server, or has another version");
  return ParseDescription(response).While("description of " + address);
}

}  // namespace

Result<ServerDescription> ParseDescription(const graph::v1::DescribeResponse& response) {
  ServerDescription description;
  description.partition_key = response.partition_key();
  description.partition = PartitionId(response.partition());
  description.incarnation = response.incarnation();
  description.graph_name = response.graph_name();
  description.warnings.assign(response.warnings().begin(), response.warnings().end());
  ASSIGN_OR_RETURN(description.graph.book, ParseBook(response.book()).While("partition book"));
  if (response.partition() >= description.graph.book.num_partitions()) {
    return InvalidArgument("partition " + std::to_string(response.partition()) + " is out of range [0, " +
                           std::to_string(description.graph.book.num_partitions()) + ")");
  }
  const size_t num_node_types = description.graph.book.schema().num_node_types();
  ASSIGN_OR_RETURN(description.graph.columns, ParseColumns(response, num_node_types));
  for (const graph::v1::SplitCount& split : response.splits()) {
    if (split.node_type() >= num_node_types)
      return InvalidArgument("split '" + split.split() + "' has an unknown type");
    description.graph.splits.push_back({NodeTypeId(static_cast<uint16_t>(split.node_type())), split.split(),
                                        split.train(), split.validation(), split.test()});
  }
  const size_t num_edge_types = description.graph.book.schema().num_edge_types();
  ASSIGN_OR_RETURN(description.graph.edge_columns, ParseEdgeColumns(response, num_edge_types));
  for (const graph::v1::EdgeSplitCount& split : response.edge_splits()) {
    if (split.edge_type() >= num_edge_types)
      return InvalidArgument("split '" + split.split() + "' has an unknown type");
    description.graph.edge_splits.push_back({EdgeTypeId(static_cast<uint16_t>(split.edge_type())), split.split(),
                                             split.train(), split.validation(), split.test()});
  }
  description.machine = response.machine();
  if (response.has_mapped_files()) description.mapped_files = response.mapped_files();
  return description;
}

std::vector<Result<ServerDescription>> DescribeServers(const std::vector<std::shared_ptr<rpc::Peer>>& peers,
                                                       const std::string& job, Deadline deadline) {
  std::vector<std::future<Result<grpc::ByteBuffer>>> replies;
  for (const std::shared_ptr<rpc::Peer>& peer : peers) {
    const auto promise = std::make_shared<std::promise<Result<grpc::ByteBuffer>>>();
    replies.push_back(promise->get_future());
    rpc::CallWithRetries(peer, kDescribe, EncodeDescribeRequest(job), deadline,
                         [promise](Result<grpc::ByteBuffer> reply) { promise->set_value(std::move(reply)); });
  }
  std::vector<Result<ServerDescription>> descriptions;
  for (size_t i = 0; i < peers.size(); ++i)
    descriptions.push_back(DecodeDescription(replies[i].get(), peers[i]->address));
  return descriptions;
}

}  // namespace espalier::client
