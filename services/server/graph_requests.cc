#include "services/server/graph_requests.h"

#include <limits>

#include "services/server/request_tensors.h"

namespace espalier::server {
namespace {

Result<sampler::PartitionRelationQuery> RelationOf(uint32_t edge_type, int32_t fanout, const Tensor& destinations,
                                                   const ServiceLimits& limits) {
  sampler::PartitionRelationQuery relation;
  ASSIGN_OR_RETURN(relation.edge_type, EdgeTypeOf(edge_type));
  if (fanout != sampler::kFullNeighborhood && fanout <= 0) {
    return InvalidArgument("fan-out " + std::to_string(fanout) + ": expected a positive number, or -1 for all");
  }
  if (fanout > limits.max_fanout) {
    return ResourceExhausted("fan-out " + std::to_string(fanout) + ", the limit is " +
                             std::to_string(limits.max_fanout));
  }
  relation.fanout = fanout;
  ASSIGN_OR_RETURN(const std::span<const LocalNodeId> nodes, LocalIds(destinations, limits));
  relation.destinations.assign(nodes.begin(), nodes.end());
  return relation;
}

// Refuses before drawing what could not be sent: 4 bytes an edge at least, 8 with edge ids.
Status CheckExpectedReply(const sampler::PartitionHopQuery& query, const ServiceLimits& limits) {
  const uint64_t edge_bytes = query.want_edge_ids ? 2 * sizeof(uint32_t) : sizeof(uint32_t);
  uint64_t bytes = 0;
  for (const sampler::PartitionRelationQuery& relation : query.relations) {
    // Without replacement a destination has at most its in-edges: the shard counts them before it draws.
    if (relation.fanout == sampler::kFullNeighborhood || !query.draw.replace) continue;
    bytes += relation.destinations.size() * static_cast<uint64_t>(relation.fanout) * edge_bytes;
    if (bytes > limits.max_reply_bytes) {
      return ResourceExhausted("the draws asked for take more than " + std::to_string(limits.max_reply_bytes) +
                               " bytes: ask for less at once");
    }
  }
  return Status();
}

// A type may be asked for more than once, so the number of types does not bound this.
Status CheckRelationCount(int count, const ServiceLimits& limits) {
  if (static_cast<uint32_t>(count) <= limits.max_relations) return Status();
  return ResourceExhausted(std::to_string(count) + " relations in one request, the limit is " +
                           std::to_string(limits.max_relations));
}

// [k] of T, one for each destination.
template <class T>
Result<std::vector<T>> ValuesOf(const Tensor& tensor, size_t num_destinations, const char* what) {
  const bool fits = tensor.dtype() == DTypeOf<T>::value && tensor.shape().size() == 1 &&
                    static_cast<size_t>(tensor.num_elements()) == num_destinations;
  if (!fits) {
    return InvalidArgument(std::string(what) + " are " + tensor.ToString() + ", expected " + NameOf(DTypeOf<T>::value) +
                           " [" + std::to_string(num_destinations) + "]");
  }
  return std::vector<T>(tensor.values<T>().begin(), tensor.values<T>().end());
}

}  // namespace

Result<sampler::DrawMethod> DrawMethodOf(graph::v1::DrawMethod method) {
  switch (method) {
    case graph::v1::DRAW_METHOD_UNSPECIFIED:
    case graph::v1::DRAW_METHOD_NEIGHBOR: return sampler::DrawMethod::kNeighbor;
    case graph::v1::DRAW_METHOD_LABOR: return sampler::DrawMethod::kLabor;
    case graph::v1::DRAW_METHOD_LAST: return sampler::DrawMethod::kLast;
    default: return InvalidArgument("draw method " + std::to_string(method) + " does not exist");
  }
}

Result<NodeTypeId> NodeTypeOf(uint32_t number) {
  if (number <= std::numeric_limits<uint16_t>::max()) return NodeTypeId(static_cast<uint16_t>(number));
  return InvalidArgument("node type " + std::to_string(number) + " does not exist");
}

Result<EdgeTypeId> EdgeTypeOf(uint32_t number) {
  if (number <= std::numeric_limits<uint16_t>::max()) return EdgeTypeId(static_cast<uint16_t>(number));
  return InvalidArgument("edge type " + std::to_string(number) + " does not exist");
}

Result<sampler::PartitionHopQuery> HopQueryOf(const rpc::Frame<graph::v1::SampleNeighborsRequest>& frame,
                                              const ServiceLimits& limits) {
  const graph::v1::SampleNeighborsRequest& request = frame.header;
  const bool has_times = !request.time_column().empty();
  const size_t tensors_each =
      1 + (has_times ? 1 : 0) + (request.has_walks() ? 1 : 0) + (request.has_exclusions() ? 2 : 0);
  RETURN_IF_ERROR(CheckTensorCount(frame.tensors, tensors_each * static_cast<size_t>(request.relations_size())));
  RETURN_IF_ERROR(CheckRelationCount(request.relations_size(), limits));
  sampler::PartitionHopQuery query;
  ASSIGN_OR_RETURN(query.draw.method, DrawMethodOf(request.method()));
  query.draw.layer_dependency = request.layer_dependency();
  query.draw.time_column = request.time_column();
  const Tensor* next = frame.tensors.data();
  for (int r = 0; r < request.relations_size(); ++r) {
    const graph::v1::RelationQuery& asked = request.relations(r);
    ASSIGN_OR_RETURN(sampler::PartitionRelationQuery relation,
                     RelationOf(asked.edge_type(), asked.fanout(), *next++, limits));
    const size_t count = relation.destinations.size();
    if (has_times) {
      ASSIGN_OR_RETURN(relation.times, ValuesOf<int64_t>(*next++, count, "times"));
    }
    if (request.has_walks()) {
      ASSIGN_OR_RETURN(relation.walks, ValuesOf<uint64_t>(*next++, count, "walks"));
    }
    if (request.has_exclusions()) {
      ASSIGN_OR_RETURN(const std::span<const LocalNodeId> destinations, LocalIds(*next++, limits));
      relation.excluded_destinations.assign(destinations.begin(), destinations.end());
      ASSIGN_OR_RETURN(relation.excluded_sources, WideIds<GlobalNodeId>(*next++, limits));
    }
    query.relations.push_back(std::move(relation));
  }
  query.seed = request.seed();
  query.at = {.epoch = request.epoch(), .step = request.step(), .hop = request.hop()};
  query.draw.replace = request.replace();
  query.draw.weight_column = request.weight_column();
  query.want_edge_ids = request.want_edge_ids();
  RETURN_IF_ERROR(CheckExpectedReply(query, limits));
  return query;
}

Result<sampler::PartitionHopQuery> HopQueryOf(const rpc::Frame<graph::v1::InSubgraphRequest>& frame,
                                              const ServiceLimits& limits) {
  const graph::v1::InSubgraphRequest& request = frame.header;
  RETURN_IF_ERROR(CheckTensorCount(frame.tensors, static_cast<size_t>(request.edge_types_size())));
  RETURN_IF_ERROR(CheckRelationCount(request.edge_types_size(), limits));
  sampler::PartitionHopQuery query;
  for (int r = 0; r < request.edge_types_size(); ++r) {
    ASSIGN_OR_RETURN(
        sampler::PartitionRelationQuery relation,
        RelationOf(request.edge_types(r), sampler::kFullNeighborhood, frame.tensors[static_cast<size_t>(r)], limits));
    query.relations.push_back(std::move(relation));
  }
  query.want_edge_ids = request.want_edge_ids();
  return query;
}

Result<sampler::SeedQuery> SeedQueryOf(const rpc::Frame<graph::v1::SeedsOfStepRequest>& frame,
                                       const ServiceLimits& limits) {
  const graph::v1::SeedsOfStepRequest& request = frame.header;
  RETURN_IF_ERROR(CheckTensorCount(frame.tensors, request.of_positions() ? 1 : 0));
  sampler::SeedQuery query;
  if (request.of_positions()) {
    RETURN_IF_ERROR(CheckIdTensor(frame.tensors[0], /*wide_allowed=*/false, limits).While("positions of a step"));
    const std::span<const uint32_t> positions = frame.tensors[0].values<uint32_t>();
    query.positions.emplace(positions.begin(), positions.end());
  }
  if (request.of_edges()) {
    if (request.edge_types().empty()) return InvalidArgument("edges of no edge type");
    for (const uint32_t number : request.edge_types()) {
      ASSIGN_OR_RETURN(const EdgeTypeId type, EdgeTypeOf(number));
      query.edge_types.push_back(type);
    }
    query.edge_column = request.edge_column();
    query.want_edge_ids = request.want_edge_ids();
  } else {
    ASSIGN_OR_RETURN(query.node_type, NodeTypeOf(request.node_type()));
  }
  switch (request.part()) {
    case graph::v1::SPLIT_PART_TRAIN: query.part = graph::SplitPartName::kTrain; break;
    case graph::v1::SPLIT_PART_VALIDATION: query.part = graph::SplitPartName::kValidation; break;
    case graph::v1::SPLIT_PART_TEST: query.part = graph::SplitPartName::kTest; break;
    default: return InvalidArgument("split part " + std::to_string(request.part()) + " does not exist");
  }
  if (request.batch_size() == 0) return InvalidArgument("a batch size of 0");
  query.split = request.split();
  query.shuffle = request.shuffle();
  query.seed = request.seed();
  query.epoch = request.epoch();
  query.step = request.step();
  query.batch_size = request.batch_size();
  return query;
}

std::vector<Tensor> TensorsOf(const sampler::PartitionHopSample& sample) {
  std::vector<Tensor> tensors;
  for (const sampler::PartitionRelationSample& relation : sample.relations) {
    tensors.push_back(relation.counts);
    tensors.push_back(relation.sources);
    tensors.push_back(relation.edge_ids);
  }
  return tensors;
}

void DescribeGraph(const sampler::GraphDescription& description, graph::v1::DescribeResponse* response) {
  const graph::PartitionBook& book = description.book;
  const graph::GraphSchema& schema = book.schema();
  graph::v1::PartitionBook* out = response->mutable_book();
  for (size_t i = 0; i < schema.num_node_types(); ++i) {
    const NodeTypeId type(static_cast<uint16_t>(i));
    out->add_node_types(schema.NodeTypeName(type));
    const std::span<const uint64_t> first = book.NodeFirst(type);
    out->add_node_ranges()->mutable_first()->Add(first.begin(), first.end());
  }
  for (size_t i = 0; i < schema.num_edge_types(); ++i) {
    const EdgeTypeId type(static_cast<uint16_t>(i));
    graph::v1::EdgeType* edge_type = out->add_edge_types();
    edge_type->set_source(schema.EdgeType(type).source);
    edge_type->set_relation(schema.EdgeType(type).relation);
    edge_type->set_destination(schema.EdgeType(type).destination);
    const std::span<const uint64_t> first = book.EdgeFirst(type);
    out->add_edge_ranges()->mutable_first()->Add(first.begin(), first.end());
  }
  for (const sampler::ColumnDescription& column : description.columns) {
    graph::v1::Column* entry = response->add_columns();
    entry->set_node_type(column.node_type.value);
    entry->set_name(column.name);
    entry->set_dtype(static_cast<uint32_t>(column.dtype));
    entry->mutable_row_shape()->Add(column.row_shape.begin(), column.row_shape.end());
  }
  for (const sampler::EdgeColumnDescription& column : description.edge_columns) {
    graph::v1::EdgeColumn* entry = response->add_edge_columns();
    entry->set_edge_type(column.edge_type.value);
    entry->set_name(column.name);
    entry->set_dtype(static_cast<uint32_t>(column.dtype));
    entry->mutable_row_shape()->Add(column.row_shape.begin(), column.row_shape.end());
  }
  for (const sampler::GraphDescription::SplitCount& split : description.splits) {
    graph::v1::SplitCount* entry = response->add_splits();
    entry->set_node_type(split.node_type.value);
    entry->set_split(split.split);
    entry->set_train(split.train);
    entry->set_validation(split.validation);
    entry->set_test(split.test);
  }
  for (const sampler::GraphDescription::EdgeSplitCount& split : description.edge_splits) {
    graph::v1::EdgeSplitCount* entry = response->add_edge_splits();
    entry->set_edge_type(split.edge_type.value);
    entry->set_split(split.split);
    entry->set_train(split.train);
    entry->set_validation(split.validation);
    entry->set_test(split.test);
  }
}

}  // namespace espalier::server
