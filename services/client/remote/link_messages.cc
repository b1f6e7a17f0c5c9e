#include "services/client/remote/link_messages.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "services/client/remote/wire_ids.h"

namespace espalier::client {
namespace {

minibatch::v1::Negatives MessageOf(sampler::NegativeKind kind) {
  switch (kind) {
    case sampler::NegativeKind::kUniform: return minibatch::v1::NEGATIVES_UNIFORM;
    case sampler::NegativeKind::kJoint: return minibatch::v1::NEGATIVES_JOINT;
    case sampler::NegativeKind::kInBatch: return minibatch::v1::NEGATIVES_IN_BATCH;
    case sampler::NegativeKind::kInDegree: return minibatch::v1::NEGATIVES_IN_DEGREE;
    case sampler::NegativeKind::kGlobalUniform: return minibatch::v1::NEGATIVES_GLOBAL_UNIFORM;
  }
  return minibatch::v1::NEGATIVES_UNSPECIFIED;
}

// Exactly `count` numbers below `limit`.
Result<std::vector<uint32_t>> NumbersOf(const Tensor& tensor, uint64_t count, uint64_t limit, const std::string& what) {
  RETURN_IF_ERROR(CheckIds(tensor, count, limit, what));
  if (count == 0) return std::vector<uint32_t>();
  if (tensor.dtype() != DType::kU32) return InvalidArgument(what + " are not U32");
  const auto numbers = tensor.values<uint32_t>();
  return std::vector<uint32_t>(numbers.begin(), numbers.end());
}

uint64_t CountOf(const Tensor& tensor) { return static_cast<uint64_t>(tensor.num_elements()); }

}  // namespace

minibatch::v1::LinkPlan LinkPlanMessageOf(const sampler::LinkPlan& links) {
  minibatch::v1::LinkPlan message;
  for (const auto& [edge_type, reverse_type] : links.types) {
    minibatch::v1::LinkType* type = message.add_types();
    type->set_edge_type(edge_type.value);
    if (reverse_type.has_value()) type->set_reverse_type(reverse_type->value);
  }
  message.set_negatives(MessageOf(links.negatives.kind));
  message.set_negatives_per_edge(links.negatives.count);
  return message;
}

Result<sampler::LinkSeeds> LinkSeedsOf(const minibatch::v1::LinkSeeds& header,
                                       std::span<const Tensor, kLinkTensors> tensors, uint64_t num_seeds,
                                       uint64_t num_types) {
  // Tensors are no longer than their message, so products of their sizes with 32 bits cannot overflow.
  const uint64_t k = header.negatives_per_edge(), pairs = CountOf(tensors[0]), sets = CountOf(tensors[3]);
  if (k == 0) return InvalidArgument("edges without negatives");
  sampler::LinkSeeds links{.negatives_per_pair = header.negatives_per_edge()};
  ASSIGN_OR_RETURN(links.sources, NumbersOf(tensors[0], pairs, num_seeds, "sources of edges"));
  ASSIGN_OR_RETURN(links.destinations, NumbersOf(tensors[1], pairs, num_seeds, "destinations of edges"));
  ASSIGN_OR_RETURN(links.relations, NumbersOf(tensors[2], pairs, num_types, "types of edges"));
  ASSIGN_OR_RETURN(links.set_ends, NumbersOf(tensors[3], sets, pairs + 1, "ends of sets"));
  const bool ascend =
      std::adjacent_find(links.set_ends.begin(), links.set_ends.end(), std::greater_equal<>()) == links.set_ends.end();
  const bool are_sets =
      links.set_ends.empty() ? pairs == 0 : links.set_ends.front() > 0 && links.set_ends.back() == pairs;
  if (!ascend || !are_sets) return InvalidArgument("sets of edges do not ascend to the number of edges");
  ASSIGN_OR_RETURN(links.negative_destinations, NumbersOf(tensors[4], sets * k, num_seeds, "negatives' destinations"));
  const uint64_t own_sources = CountOf(tensors[5]) == 0 ? 0 : pairs * k;
  if (own_sources > 0 && sets != pairs) return InvalidArgument("negatives with sources of their own are shared");
  ASSIGN_OR_RETURN(links.negative_sources, NumbersOf(tensors[5], own_sources, num_seeds, "negatives' sources"));
  if (CountOf(tensors[6]) != pairs * k || (pairs > 0 && tensors[6].dtype() != DType::kU8)) {
    return InvalidArgument("the weights of negatives are " + tensors[6].ToString());
  }
  if (pairs > 0) {
    const auto weights = tensors[6].values<uint8_t>();
    links.negative_weights.assign(weights.begin(), weights.end());
  }
  return links;
}

}  // namespace espalier::client
