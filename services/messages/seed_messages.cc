#include "services/messages/seed_messages.h"

#include <algorithm>
#include <string>

#include "services/messages/request_tensors.h"
#include "services/messages/wire_ids.h"

namespace espalier::messages {
namespace {

graph::v1::SplitPart EncodePart(graph::SplitPartName part) {
  switch (part) {
    case graph::SplitPartName::kTrain: return graph::v1::SPLIT_PART_TRAIN;
    case graph::SplitPartName::kValidation: return graph::v1::SPLIT_PART_VALIDATION;
    case graph::SplitPartName::kTest: return graph::v1::SPLIT_PART_TEST;
  }
  return graph::v1::SPLIT_PART_UNSPECIFIED;
}

}  // namespace

grpc::ByteBuffer EncodeSeedsRequest(const sampler::SeedQuery& query, const tensor::v1::RequestIdentity& identity) {
  graph::v1::SeedsOfStepRequest request;
  *request.mutable_identity() = identity;
  request.set_node_type(query.node_type.value);
  request.set_split(query.split);
  request.set_part(EncodePart(query.part));
  request.set_shuffle(query.shuffle);
  request.set_seed(query.seed);
  request.set_epoch(query.epoch);
  request.set_step(query.step);
  request.set_batch_size(query.batch_size);
  request.set_of_edges(!query.edge_types.empty());
  for (const EdgeTypeId type : query.edge_types) request.add_edge_types(type.value);
  request.set_edge_column(query.edge_column);
  request.set_want_edge_ids(query.want_edge_ids);
  request.set_of_positions(query.positions.has_value());
  std::vector<Tensor> positions;
  if (query.positions.has_value()) positions.push_back(Tensor::FromVector(*query.positions));
  return rpc::EncodeFrame(std::move(request), positions);
}

Result<sampler::SeedQuery> DecodeSeedsRequest(const rpc::Frame<graph::v1::SeedsOfStepRequest>& frame,
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
    if (request.edge_types().empty()) return InvalidArgument("a request for seed edges has no edge types");
    for (const uint32_t number : request.edge_types()) {
      ASSIGN_OR_RETURN(const EdgeTypeId type, DecodeEdgeType(number));
      query.edge_types.push_back(type);
    }
    query.edge_column = request.edge_column();
    query.want_edge_ids = request.want_edge_ids();
  } else {
    ASSIGN_OR_RETURN(query.node_type, DecodeNodeType(request.node_type()));
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

std::vector<Tensor> EncodeSeedsReply(const sampler::SeedQuery& query, const sampler::PartitionSeeds& seeds) {
  std::vector<Tensor> tensors = {seeds.positions, seeds.nodes};
  if (!query.edge_types.empty()) tensors.push_back(seeds.sources);
  if (!query.edge_column.empty()) tensors.push_back(seeds.rows);
  if (query.want_edge_ids) tensors.push_back(seeds.edge_ids);
  return tensors;
}

Result<sampler::PartitionSeeds> DecodeSeedsReply(const grpc::ByteBuffer& reply, const sampler::SeedQuery& query,
                                                 const graph::PartitionBook& book) {
  ASSIGN_OR_RETURN(const rpc::Frame<graph::v1::SeedsOfStepResponse> frame,
                   rpc::DecodeFrame<graph::v1::SeedsOfStepResponse>(reply));
  const graph::GraphSchema& schema = book.schema();
  const bool of_edges = !query.edge_types.empty(), with_rows = !query.edge_column.empty();
  // The largest bounds over all edge types. The caller knows the edge type of each position and checks each entry
  // against the bounds of its edge type.
  uint64_t num_nodes = of_edges ? 0 : book.num_nodes(query.node_type), num_sources = 0;
  for (const EdgeTypeId type : query.edge_types) {
    num_nodes = std::max(num_nodes, book.num_nodes(schema.DestinationOf(type)));
    num_sources = std::max(num_sources, book.num_nodes(schema.SourceOf(type)));
  }
  const std::vector<Tensor>& tensors = frame.tensors;
  const size_t at_rows = of_edges ? 3 : 2, at_ids = at_rows + (with_rows ? 1 : 0);
  const size_t expected = at_ids + (query.want_edge_ids ? 1 : 0);
  if (tensors.size() != expected || tensors[0].dtype() != DType::kU32) {
    return InvalidArgument("the server's seeds are " + std::to_string(tensors.size()) + " tensors, expected " +
                           std::to_string(expected) + " of which the first is U32 (positions)");
  }
  const auto count = static_cast<uint64_t>(tensors[0].num_elements());
  RETURN_IF_ERROR(CheckIds(tensors[0], count, query.batch_size, "seed positions"));
  RETURN_IF_ERROR(CheckIds(tensors[1], count, num_nodes, "seeds"));
  sampler::PartitionSeeds seeds{.positions = tensors[0], .nodes = tensors[1]};
  if (of_edges) {
    RETURN_IF_ERROR(CheckIds(tensors[2], count, num_sources, "sources of seeds"));
    seeds.sources = tensors[2];
  }
  if (with_rows) {
    seeds.rows = tensors[at_rows];
    if (static_cast<uint64_t>(seeds.rows.num_rows()) != count) {
      return InvalidArgument("the server sent " + seeds.rows.ToString() + " as rows of " + std::to_string(count) +
                             " edges");
    }
  }
  if (query.want_edge_ids) {
    RETURN_IF_ERROR(CheckIds(tensors[at_ids], count, book.num_edges(query.edge_types.front()), "edge ids of seeds"));
    seeds.edge_ids = tensors[at_ids];
  }
  return seeds;
}

}  // namespace espalier::messages
