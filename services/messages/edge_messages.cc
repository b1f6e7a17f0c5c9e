#include "services/messages/edge_messages.h"

#include <algorithm>
#include <string>
#include <vector>

#include "services/messages/wire_ids.h"

namespace espalier::messages {
namespace {

// Returns the values of the tensor, row numbers among the seeds, after checking that there are exactly `count`, each
// below `num_seeds`.
Result<std::vector<uint32_t>> ToRowNumbers(const Tensor& tensor, uint64_t count, uint64_t num_seeds,
                                           const std::string& what) {
  RETURN_IF_ERROR(CheckIds(tensor, count, num_seeds, what));
  if (count == 0) return std::vector<uint32_t>();
  if (tensor.dtype() != DType::kU32) return InvalidArgument(what + " are not U32");
  const auto rows = tensor.values<uint32_t>();
  return std::vector<uint32_t>(rows.begin(), rows.end());
}

}  // namespace

minibatch::v1::EdgePlan EncodeEdgePlan(const sampler::EdgePlan& edges) {
  minibatch::v1::EdgePlan message;
  message.set_edge_type(edges.edge_type.value);
  message.set_label(edges.label);
  message.set_exclude_batch(edges.exclude_batch);
  if (edges.exclude_reverse.has_value()) message.set_exclude_reverse(edges.exclude_reverse->value);
  return message;
}

Result<sampler::EdgePlan> DecodeEdgePlan(const minibatch::v1::EdgePlan& edges) {
  sampler::EdgePlan plan;
  ASSIGN_OR_RETURN(plan.edge_type, DecodeEdgeType(edges.edge_type()));
  plan.label = edges.label();
  plan.exclude_batch = edges.exclude_batch();
  if (!edges.has_exclude_reverse()) return plan;
  ASSIGN_OR_RETURN(plan.exclude_reverse, DecodeEdgeType(edges.exclude_reverse()));
  return plan;
}

void EncodeEdgeSeeds(const sampler::EdgeSeeds& edges, std::vector<Tensor>* tensors) {
  tensors->push_back(Tensor::FromVector(edges.sources));
  tensors->push_back(Tensor::FromVector(edges.destinations));
  tensors->push_back(edges.labels);
}

Result<sampler::EdgeSeeds> DecodeEdgeSeeds(std::span<const Tensor, kEdgeTensors> tensors, uint64_t num_seeds) {
  const auto count = static_cast<uint64_t>(tensors[0].num_elements());
  sampler::EdgeSeeds edges;
  ASSIGN_OR_RETURN(edges.sources, ToRowNumbers(tensors[0], count, num_seeds, "sources of labeled edges"));
  ASSIGN_OR_RETURN(edges.destinations, ToRowNumbers(tensors[1], count, num_seeds, "destinations of labeled edges"));
  const Tensor& labels = tensors[2];
  if (labels.shape().empty() || static_cast<uint64_t>(labels.num_rows()) != count) {
    return InvalidArgument("the labels of " + std::to_string(count) + " edges are " + labels.ToString() +
                           ", expected one row for each edge");
  }
  // Reading any byte other than 0 and 1 as a bool is undefined behavior.
  const auto is_invalid_bool = [](std::byte byte) { return byte > std::byte{1}; };
  if (labels.dtype() == DType::kBool && std::ranges::any_of(labels.byte_span(), is_invalid_bool)) {
    return InvalidArgument("BOOL labels of edges contain a byte other than 0 and 1");
  }
  edges.labels = labels;
  return edges;
}

}  // namespace espalier::messages
