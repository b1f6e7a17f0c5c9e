// The pairs of a link-prediction batch (sampler::LinkSeeds) are sent as kNumPairTensors tensors in a fixed order,
// followed by optional edge ids and rows of edge columns; the header says which of these are present. Decoding does not
// trust the message: it checks that each array has one element per pair, per set of negatives or per negative, and that
// each endpoint, which is the index of a seed, is less than the number of seeds.
#include "services/messages/link_messages.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "services/graph/schema.h"
#include "services/messages/wire_ids.h"

namespace espalier::messages {
namespace {

constexpr size_t kNumPairTensors = 7;  // before the pairs' ids and rows

minibatch::v1::Negatives EncodeNegatives(sampler::NegativeKind kind) {
  switch (kind) {
    case sampler::NegativeKind::kUniform: return minibatch::v1::NEGATIVES_UNIFORM;
    case sampler::NegativeKind::kJoint: return minibatch::v1::NEGATIVES_JOINT;
    case sampler::NegativeKind::kInBatch: return minibatch::v1::NEGATIVES_IN_BATCH;
    case sampler::NegativeKind::kInDegree: return minibatch::v1::NEGATIVES_IN_DEGREE;
    case sampler::NegativeKind::kGlobalUniform: return minibatch::v1::NEGATIVES_GLOBAL_UNIFORM;
  }
  return minibatch::v1::NEGATIVES_UNSPECIFIED;
}

Result<sampler::NegativeKind> DecodeNegatives(minibatch::v1::Negatives negatives) {
  switch (negatives) {
    case minibatch::v1::NEGATIVES_UNIFORM: return sampler::NegativeKind::kUniform;
    case minibatch::v1::NEGATIVES_JOINT: return sampler::NegativeKind::kJoint;
    case minibatch::v1::NEGATIVES_IN_BATCH: return sampler::NegativeKind::kInBatch;
    case minibatch::v1::NEGATIVES_IN_DEGREE: return sampler::NegativeKind::kInDegree;
    case minibatch::v1::NEGATIVES_GLOBAL_UNIFORM: return sampler::NegativeKind::kGlobalUniform;
    default: return InvalidArgument("unknown kind of negatives: " + std::to_string(negatives));
  }
}

// Returns the tensor's numbers after checking that there are exactly `count`, each below `limit`.
Result<std::vector<uint32_t>> ToNumbers(const Tensor& tensor, uint64_t count, uint64_t limit, const std::string& what) {
  RETURN_IF_ERROR(CheckIds(tensor, count, limit, what));
  if (count == 0) return std::vector<uint32_t>();
  if (tensor.dtype() != DType::kU32) return InvalidArgument(what + " are not U32");
  const auto numbers = tensor.values<uint32_t>();
  return std::vector<uint32_t>(numbers.begin(), numbers.end());
}

uint64_t Count(const Tensor& tensor) { return static_cast<uint64_t>(tensor.num_elements()); }

// Returns each name once, because rows are looked up by name.
std::set<std::string> ListColumns(const sampler::LinkPlan& plan) {
  return {plan.edge_columns.begin(), plan.edge_columns.end()};
}

Status CheckColumns(const minibatch::v1::LinkSeeds& header, const sampler::LinkPlan& plan) {
  const std::set<std::string> requested = ListColumns(plan);
  if (std::equal(requested.begin(), requested.end(), header.edge_columns().begin(), header.edge_columns().end()))
    return {};
  const std::vector<std::string> sent(header.edge_columns().begin(), header.edge_columns().end());
  return Unimplemented("the sampler sends rows of the edge columns [" + graph::JoinNames(sent) + "], expected [" +
                       graph::JoinNames({requested.begin(), requested.end()}) + "]: the sampler has another version");
}

// Decodes the optional ids and rows of the pairs. `tensors` contains only those that are present.
Status TakeIdsAndRows(const minibatch::v1::LinkSeeds& header, std::span<const Tensor> tensors,
                      const sampler::LinkPlan& plan, uint64_t num_edges, sampler::LinkSeeds* links) {
  const size_t pairs = links->sources.size();
  RETURN_IF_ERROR(CheckColumns(header, plan));
  if (plan.want_pair_ids && !header.has_edge_ids() && pairs > 0) {
    return Unimplemented("the sampler sends no ids of a batch's edges: the sampler has another version");
  }
  if (header.has_edge_ids()) {
    if (!plan.want_pair_ids) return InvalidArgument("ids of edges, which the plan does not request");
    RETURN_IF_ERROR(CheckIds(tensors.front(), pairs, num_edges, "ids of edges"));
    for (size_t i = 0; i < pairs; ++i) {
      const Tensor& ids = tensors.front();
      links->edge_ids.emplace_back(ids.dtype() == DType::kU32 ? uint64_t{ids.values<uint32_t>()[i]}
                                                              : ids.values<uint64_t>()[i]);
    }
    tensors = tensors.subspan(1);
  }
  for (int i = 0; i < header.edge_columns_size(); ++i) {
    const Tensor& rows = tensors[static_cast<size_t>(i)];
    if (rows.shape().empty() || static_cast<size_t>(rows.num_rows()) != pairs) {
      return InvalidArgument("the rows of the edge column '" + header.edge_columns(i) + "' are " + rows.ToString() +
                             ", expected one row for each of " + std::to_string(pairs) + " edges");
    }
    links->rows.emplace(header.edge_columns(i), rows);
  }
  return Status();
}

}  // namespace

minibatch::v1::LinkPlan EncodeLinkPlan(const sampler::LinkPlan& links) {
  minibatch::v1::LinkPlan message;
  for (const auto& [edge_type, reverse_type] : links.types) {
    minibatch::v1::LinkType* type = message.add_types();
    type->set_edge_type(edge_type.value);
    if (reverse_type.has_value()) type->set_reverse_type(reverse_type->value);
  }
  message.set_negatives(EncodeNegatives(links.negatives.kind));
  message.set_negatives_per_edge(links.negatives.count);
  // draw_batch: whether hops may sample the edges of the batch. The opposite of exclude_batch.
  message.set_draw_batch(!links.exclude_batch);
  for (const std::string& column : ListColumns(links)) message.add_edge_columns(column);
  message.set_want_pair_ids(links.want_pair_ids);
  return message;
}

Result<sampler::LinkPlan> DecodeLinkPlan(const minibatch::v1::StreamStart& start, const ServiceLimits& limits) {
  const minibatch::v1::LinkPlan& links = start.links();
  if (static_cast<uint32_t>(links.types_size()) > limits.max_relations) {
    return ResourceExhausted("links of " + std::to_string(links.types_size()) + " edge types, the limit is " +
                             std::to_string(limits.max_relations));
  }
  sampler::LinkPlan plan;
  for (const minibatch::v1::LinkType& type : links.types()) {
    sampler::LinkType& link = plan.types.emplace_back();
    ASSIGN_OR_RETURN(link.edge_type, DecodeEdgeType(type.edge_type()));
    if (!type.has_reverse_type()) continue;
    ASSIGN_OR_RETURN(link.reverse_type, DecodeEdgeType(type.reverse_type()));
  }
  ASSIGN_OR_RETURN(plan.negatives.kind, DecodeNegatives(links.negatives()));
  plan.negatives.count = links.negatives_per_edge();
  plan.exclude_batch = !links.draw_batch();
  plan.want_pair_ids = links.want_pair_ids();
  plan.edge_columns.assign(links.edge_columns().begin(), links.edge_columns().end());
  if (plan.edge_columns.size() > limits.max_edge_columns) {
    return ResourceExhausted(std::to_string(plan.edge_columns.size()) + " edge columns, the limit is " +
                             std::to_string(limits.max_edge_columns));
  }
  RETURN_IF_ERROR(sampler::CheckNegatives(plan.negatives));
  if (plan.negatives.count == 0) return plan;
  const bool of_whole_step = plan.negatives.kind == sampler::NegativeKind::kInDegree;
  const uint64_t ranks = of_whole_step ? 1 : start.num_trainers();
  const uint64_t edges = start.batch_size() / ranks + (start.batch_size() % ranks != 0 ? 1 : 0);
  if (edges <= limits.max_rows / plan.negatives.count) return plan;
  return ResourceExhausted(std::to_string(edges) + " edges with " + std::to_string(plan.negatives.count) +
                           " negatives each, the limit is " + std::to_string(limits.max_rows) + " negatives");
}

size_t NumLinkTensors(const minibatch::v1::LinkSeeds& header) {
  return kNumPairTensors + (header.has_edge_ids() ? 1 : 0) + static_cast<size_t>(header.edge_columns_size());
}

void EncodeLinkSeeds(const sampler::LinkSeeds& links, minibatch::v1::LinkSeeds* header, std::vector<Tensor>* tensors) {
  header->set_negatives_per_edge(links.negatives_per_pair);
  for (const std::vector<uint32_t>* numbers : {&links.sources, &links.destinations, &links.relations, &links.set_ends,
                                               &links.negative_destinations, &links.negative_sources}) {
    tensors->push_back(Tensor::FromVector(*numbers));
  }
  tensors->push_back(Tensor::FromVector(links.negative_weights));
  if (!links.edge_ids.empty()) {
    header->set_has_edge_ids(true);
    tensors->push_back(WideIdTensor(links.edge_ids));
  }
  for (const auto& [column, rows] : links.rows) {
    header->add_edge_columns(column);
    tensors->push_back(rows);
  }
}

Result<sampler::LinkSeeds> DecodeLinkSeeds(const minibatch::v1::LinkSeeds& header, std::span<const Tensor> tensors,
                                           const sampler::LinkPlan& plan, const LinkBounds& bounds) {
  if (tensors.size() != NumLinkTensors(header)) {
    return InvalidArgument("the edges of the batch have " + std::to_string(tensors.size()) + " tensors, expected " +
                           std::to_string(NumLinkTensors(header)));
  }
  const uint64_t num_seeds = bounds.num_seeds, num_types = plan.types.size();
  // A tensor is no longer than its message, so the product of its size and a 32-bit number cannot overflow.
  const uint64_t k = header.negatives_per_edge(), pairs = Count(tensors[0]), sets = Count(tensors[3]);
  if (k != plan.negatives.count) {
    return InvalidArgument("edges with " + std::to_string(k) + " negatives each, expected " +
                           std::to_string(plan.negatives.count));
  }
  sampler::LinkSeeds links{.negatives_per_pair = header.negatives_per_edge()};
  ASSIGN_OR_RETURN(links.sources, ToNumbers(tensors[0], pairs, num_seeds, "sources of edges"));
  ASSIGN_OR_RETURN(links.destinations, ToNumbers(tensors[1], pairs, num_seeds, "destinations of edges"));
  ASSIGN_OR_RETURN(links.relations, ToNumbers(tensors[2], pairs, num_types, "types of edges"));
  ASSIGN_OR_RETURN(links.set_ends, ToNumbers(tensors[3], sets, pairs + 1, "ends of sets of negatives"));
  const bool ascend =
      std::adjacent_find(links.set_ends.begin(), links.set_ends.end(), std::greater_equal<>()) == links.set_ends.end();
  const bool are_sets =
      links.set_ends.empty() ? pairs == 0 : links.set_ends.front() > 0 && links.set_ends.back() == pairs;
  if (!ascend || !are_sets)
    return InvalidArgument(
        "ends of sets of negatives: expected ascending numbers, the last equal to the number of edges");
  ASSIGN_OR_RETURN(links.negative_destinations, ToNumbers(tensors[4], sets * k, num_seeds, "negatives' destinations"));
  const uint64_t own_sources = Count(tensors[5]) == 0 ? 0 : pairs * k;
  if (own_sources > 0 && sets != pairs) return InvalidArgument("negatives with their own sources cannot be shared");
  ASSIGN_OR_RETURN(links.negative_sources, ToNumbers(tensors[5], own_sources, num_seeds, "negatives' sources"));
  if (Count(tensors[6]) != pairs * k || (pairs > 0 && tensors[6].dtype() != DType::kU8)) {
    return InvalidArgument("the weights of negatives are " + tensors[6].ToString() + ", expected U8 [" +
                           std::to_string(pairs * k) + "]");
  }
  if (pairs > 0) {
    const auto weights = tensors[6].values<uint8_t>();
    links.negative_weights.assign(weights.begin(), weights.end());
  }
  RETURN_IF_ERROR(TakeIdsAndRows(header, tensors.subspan(kNumPairTensors), plan, bounds.num_edges, &links));
  return links;
}

}  // namespace espalier::messages
