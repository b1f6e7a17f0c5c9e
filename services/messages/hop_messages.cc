#include "services/messages/hop_messages.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "services/messages/draw_messages.h"
#include "services/messages/request_tensors.h"
#include "services/messages/wire_ids.h"

namespace espalier::messages {
namespace {

// Returns whether the query is for a step of random walks. Either all of its relations have `walks` or none of them
// (sampler::CheckDrawRule).
bool HasWalks(const sampler::PartitionHopQuery& query) {
  return std::any_of(query.relations.begin(), query.relations.end(),
                     [](const sampler::PartitionRelationQuery& relation) { return !relation.walks.empty(); });
}

template <class T>
Tensor Slice(const std::vector<T>& values, const SampleSpan& span) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(span.begin);
  return Tensor::FromVector(std::vector<T>(first, first + static_cast<std::ptrdiff_t>(span.end - span.begin)));
}

Status CheckSample(const sampler::PartitionRelationSample& sample, EdgeTypeId type, size_t destinations,
                   bool want_edge_ids, const graph::PartitionBook& book) {
  if (sample.counts.dtype() != DType::kU32 || static_cast<size_t>(sample.counts.num_elements()) != destinations) {
    return InvalidArgument("the server's counts are " + sample.counts.ToString() + ", expected U32 [" +
                           std::to_string(destinations) + "]");
  }
  const auto counts = sample.counts.values<uint32_t>();
  const uint64_t drawn = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  RETURN_IF_ERROR(CheckIds(sample.sources, drawn, book.num_nodes(book.schema().SourceOf(type)), "source ids"));
  return CheckIds(sample.edge_ids, want_edge_ids ? drawn : 0, book.num_edges(type), "edge ids");
}

Result<sampler::PartitionRelationQuery> DecodeRelation(uint32_t edge_type, int32_t fanout, const Tensor& destinations,
                                                       const ServiceLimits& limits) {
  sampler::PartitionRelationQuery relation;
  ASSIGN_OR_RETURN(relation.edge_type, DecodeEdgeType(edge_type));
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

// Returns ResourceExhausted if the response would be too large to send, so that nothing is sampled in vain. An edge
// takes at least 4 bytes, at least 8 with edge ids.
Status CheckExpectedReply(const sampler::PartitionHopQuery& query, const ServiceLimits& limits) {
  const uint64_t edge_bytes = query.want_edge_ids ? 2 * sizeof(uint32_t) : sizeof(uint32_t);
  uint64_t bytes = 0;
  for (const sampler::PartitionRelationQuery& relation : query.relations) {
    // Without replacement, a destination draws at most its in-edges, and the partition counts these before it samples.
    if (relation.fanout == sampler::kFullNeighborhood || !query.draw.replace) continue;
    bytes += relation.destinations.size() * static_cast<uint64_t>(relation.fanout) * edge_bytes;
    if (bytes > limits.max_reply_bytes) {
      return ResourceExhausted("the requested samples exceed " + std::to_string(limits.max_reply_bytes) +
                               " bytes: send a smaller request");
    }
  }
  return Status();
}

// Limits the number of relations. The number of edge types does not limit it, because a request may repeat a type.
Status CheckRelationCount(int count, const ServiceLimits& limits) {
  if (static_cast<uint32_t>(count) <= limits.max_relations) return Status();
  return ResourceExhausted(std::to_string(count) + " relations in one request, the limit is " +
                           std::to_string(limits.max_relations));
}

// Returns the elements of a tensor with dtype T and shape [num_destinations]; InvalidArgument for another dtype or
// shape.
template <class T>
Result<std::vector<T>> ReadValues(const Tensor& tensor, size_t num_destinations, const char* what) {
  const bool fits = tensor.dtype() == DTypeOf<T>::value && tensor.shape().size() == 1 &&
                    static_cast<size_t>(tensor.num_elements()) == num_destinations;
  if (!fits) {
    return InvalidArgument(std::string(what) + " are " + tensor.ToString() + ", expected " +
                           ToString(DTypeOf<T>::value) + " [" + std::to_string(num_destinations) + "]");
  }
  return std::vector<T>(tensor.values<T>().begin(), tensor.values<T>().end());
}

}  // namespace

bool HasExclusions(const sampler::PartitionHopQuery& query, const SamplePiece& piece) {
  return std::any_of(piece.begin(), piece.end(),
                     [&](const SampleSpan& span) { return !query.relations[span.relation].excluded_sources.empty(); });
}

grpc::ByteBuffer EncodeHopRequest(const sampler::PartitionHopQuery& query, const SamplePiece& piece,
                                  const tensor::v1::RequestIdentity& identity) {
  graph::v1::SampleNeighborsRequest request;
  *request.mutable_identity() = identity;
  request.set_seed(query.seed);
  request.set_epoch(query.at.epoch);
  request.set_step(query.at.step);
  request.set_hop(query.at.hop);
  EncodeDraw(query.draw, &request);
  request.set_want_edge_ids(query.want_edge_ids);
  request.set_has_walks(HasWalks(query));
  request.set_has_exclusions(HasExclusions(query, piece));
  std::vector<Tensor> tensors;
  for (const SampleSpan& span : piece) {
    const sampler::PartitionRelationQuery& relation = query.relations[span.relation];
    graph::v1::RelationQuery* requested = request.add_relations();
    requested->set_edge_type(relation.edge_type.value);
    requested->set_fanout(relation.fanout);
    const std::span<const LocalNodeId> nodes(relation.destinations);
    tensors.push_back(LocalIdTensor(nodes.subspan(span.begin, span.end - span.begin)));
    if (!query.draw.time_column.empty()) tensors.push_back(Slice(relation.times, span));
    if (request.has_walks()) tensors.push_back(Slice(relation.walks, span));
    if (!request.has_exclusions()) continue;
    tensors.push_back(LocalIdTensor(std::span<const LocalNodeId>(relation.excluded_destinations)));
    tensors.push_back(WideIdTensor(std::span<const GlobalNodeId>(relation.excluded_sources)));
  }
  return rpc::EncodeFrame(std::move(request), tensors);
}

Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::SampleNeighborsRequest>& frame,
                                                    const ServiceLimits& limits) {
  const graph::v1::SampleNeighborsRequest& request = frame.header;
  const bool has_times = !request.time_column().empty();
  const size_t tensors_each =
      1 + (has_times ? 1 : 0) + (request.has_walks() ? 1 : 0) + (request.has_exclusions() ? 2 : 0);
  RETURN_IF_ERROR(CheckTensorCount(frame.tensors, tensors_each * static_cast<size_t>(request.relations_size())));
  RETURN_IF_ERROR(CheckRelationCount(request.relations_size(), limits));
  sampler::PartitionHopQuery query;
  ASSIGN_OR_RETURN(query.draw, DecodeDraw(request));
  const Tensor* next = frame.tensors.data();
  for (int r = 0; r < request.relations_size(); ++r) {
    const graph::v1::RelationQuery& requested = request.relations(r);
    ASSIGN_OR_RETURN(sampler::PartitionRelationQuery relation,
                     DecodeRelation(requested.edge_type(), requested.fanout(), *next++, limits));
    const size_t count = relation.destinations.size();
    if (has_times) {
      ASSIGN_OR_RETURN(relation.times, ReadValues<int64_t>(*next++, count, "times"));
    }
    if (request.has_walks()) {
      ASSIGN_OR_RETURN(relation.walks, ReadValues<uint64_t>(*next++, count, "walks"));
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
  query.want_edge_ids = request.want_edge_ids();
  RETURN_IF_ERROR(CheckExpectedReply(query, limits));
  return query;
}

Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::InSubgraphRequest>& frame,
                                                    const ServiceLimits& limits) {
  const graph::v1::InSubgraphRequest& request = frame.header;
  RETURN_IF_ERROR(CheckTensorCount(frame.tensors, static_cast<size_t>(request.edge_types_size())));
  RETURN_IF_ERROR(CheckRelationCount(request.edge_types_size(), limits));
  sampler::PartitionHopQuery query;
  for (int r = 0; r < request.edge_types_size(); ++r) {
    ASSIGN_OR_RETURN(sampler::PartitionRelationQuery relation,
                     DecodeRelation(request.edge_types(r), sampler::kFullNeighborhood,
                                    frame.tensors[static_cast<size_t>(r)], limits));
    query.relations.push_back(std::move(relation));
  }
  query.want_edge_ids = request.want_edge_ids();
  return query;
}

std::vector<Tensor> EncodeHopReply(const sampler::PartitionHopSample& sample) {
  std::vector<Tensor> tensors;
  for (const sampler::PartitionRelationSample& relation : sample.relations) {
    tensors.push_back(relation.counts);
    tensors.push_back(relation.sources);
    tensors.push_back(relation.edge_ids);
  }
  return tensors;
}

Result<std::vector<sampler::PartitionRelationSample>> DecodeHopReply(const grpc::ByteBuffer& reply,
                                                                     const sampler::PartitionHopQuery& query,
                                                                     const SamplePiece& piece,
                                                                     const graph::PartitionBook& book) {
  ASSIGN_OR_RETURN(rpc::Frame<graph::v1::SampleNeighborsResponse> frame,
                   rpc::DecodeFrame<graph::v1::SampleNeighborsResponse>(reply));
  if (frame.tensors.size() != 3 * piece.size()) {
    return InvalidArgument("the server's reply has " + std::to_string(frame.tensors.size()) + " tensors, expected " +
                           std::to_string(3 * piece.size()));
  }
  const bool has_used_method = query.draw.method == sampler::DrawMethod::kNeighbor ||
                               frame.header.method() == EncodeDrawMethod(query.draw.method);
  if (!has_used_method) {
    return Unimplemented(
        "the server does not support the requested draw method: servers and clients must have the same version");
  }
  std::vector<sampler::PartitionRelationSample> samples;
  for (size_t i = 0; i < piece.size(); ++i) {
    samples.push_back({frame.tensors[3 * i], frame.tensors[3 * i + 1], frame.tensors[3 * i + 2]});
    RETURN_IF_ERROR(CheckSample(samples.back(), query.relations[piece[i].relation].edge_type,
                                piece[i].end - piece[i].begin, query.want_edge_ids, book));
  }
  return samples;
}

}  // namespace espalier::messages
