#include "services/server/mini_batch_messages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/rpc/frame.h"
#include "services/server/edge_messages.h"
#include "services/server/graph_requests.h"
#include "services/server/id_tensor.h"
#include "services/server/link_messages.h"

namespace espalier::server {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 40;  // more is all the same, and the products below cannot overflow

// Of one rank: nodes, or the ends of its edges and, with links, of their negatives.
uint64_t MostSeedsOf(const sampler::EpochPlan& plan, const graph::PartitionBook& book) {
  const uint64_t share = std::min(kMost, plan.batch_size / plan.num_trainers + 1);
  if (plan.links() == nullptr && plan.edges() == nullptr) return share;
  const uint64_t ends = 2 + (plan.links() != nullptr ? 2 * uint64_t{plan.links()->negatives.count} : 0);
  return std::min(book.num_nodes(), share > kMost / ends ? kMost : share * ends);
}

// A block is described in 22 bytes or more even where it is empty.
Status CheckHeader(const minibatch::v1::MiniBatch& header) {
  const size_t size_bytes = header.ByteSizeLong();
  if (size_bytes <= rpc::kMaxHeaderBytes) return Status();
  size_t num_blocks = 0;
  for (const minibatch::v1::Layer& layer : header.layers()) num_blocks += static_cast<size_t>(layer.edge_types_size());
  return ResourceExhausted("a mini-batch of " + std::to_string(header.layers_size()) + " layers with " +
                           std::to_string(num_blocks) + " relations in all, of " +
                           std::to_string(header.num_node_types()) + " node types, whose description takes " +
                           std::to_string(size_bytes) + " bytes, the limit is " + std::to_string(rpc::kMaxHeaderBytes) +
                           ": leave relations out of layers (fan-out 0)");
}

}  // namespace

Result<StreamPlan> StreamPlanOf(const minibatch::v1::StreamStart& start, const ServiceLimits& limits) {
  if (start.batch_size() == 0) return InvalidArgument("a batch size of 0");
  if (start.stride() == 0) return InvalidArgument("a stride of 0");
  if (start.num_trainers() == 0 || start.rank() >= start.num_trainers()) {
    return InvalidArgument("rank " + std::to_string(start.rank()) + " of " + std::to_string(start.num_trainers()) +
                           " trainers");
  }
  if (start.num_trainers() > limits.max_trainers) {
    return ResourceExhausted(std::to_string(start.num_trainers()) + " trainers, the limit is " +
                             std::to_string(limits.max_trainers));
  }
  if (start.batch_size() > limits.max_rows) {
    return ResourceExhausted("a batch of " + std::to_string(start.batch_size()) + " seeds, the limit is " +
                             std::to_string(limits.max_rows));
  }
  if (static_cast<uint32_t>(start.sampling().layers_size()) > limits.max_layers) {
    return ResourceExhausted(std::to_string(start.sampling().layers_size()) + " layers, the limit is " +
                             std::to_string(limits.max_layers));
  }
  StreamPlan stream;
  ASSIGN_OR_RETURN(stream.plan.seed_type, NodeTypeOf(start.seed_type()));
  stream.plan.split = start.split();
  stream.plan.batch_size = start.batch_size();
  stream.plan.shuffle = start.shuffle();
  stream.plan.num_trainers = start.num_trainers();
  stream.plan.rank = Rank(start.rank());
  if (start.has_links() && start.has_edges()) return InvalidArgument("batches are of links or of edges, not of both");
  if (start.has_edges()) {
    ASSIGN_OR_RETURN(stream.plan.seeds, EdgePlanOf(start.edges()));
  }
  if (start.has_links()) {
    ASSIGN_OR_RETURN(stream.plan.seeds, LinkPlanOf(start, limits));
  }
  stream.job = start.identity().job();
  stream.incarnation = start.identity().incarnation();
  stream.epoch = start.epoch();
  stream.first_step = start.first_step();
  stream.stride = start.stride();
  stream.want_edge_ids = start.want_edge_ids();
  stream.spec.draw.replace = start.sampling().replace();
  stream.spec.draw.weight_column = start.sampling().weight_column();
  stream.spec.seed = start.sampling().seed();
  ASSIGN_OR_RETURN(stream.spec.draw.method, DrawMethodOf(start.sampling().method()));
  stream.spec.draw.layer_dependency = start.sampling().layer_dependency();
  stream.spec.draw.time_column = start.sampling().time_column();
  stream.spec.seed_time_column = start.sampling().seed_time_column();
  stream.spec.max_edges = limits.max_draws_per_batch;
  for (const minibatch::v1::LayerSpec& layer : start.sampling().layers()) {
    for (const int32_t fanout : layer.fanouts()) {
      if (fanout > limits.max_fanout) {
        return ResourceExhausted("fan-out " + std::to_string(fanout) + ", the limit is " +
                                 std::to_string(limits.max_fanout));
      }
    }
    stream.spec.layers.push_back({{layer.fanouts().begin(), layer.fanouts().end()}});
  }
  return stream;
}

uint64_t MostDrawsOf(const StreamPlan& stream, const graph::PartitionBook& book) {
  uint64_t nodes = MostSeedsOf(stream.plan, book);
  uint64_t draws = 0;
  for (size_t layer = stream.spec.layers.size(); layer > 0; --layer) {
    const std::vector<int32_t>& fanouts = stream.spec.layers[layer - 1].fanouts;
    uint64_t found = 0;
    for (size_t type = 0; type < fanouts.size() && type < book.schema().num_edge_types(); ++type) {
      if (fanouts[type] <= 0) continue;
      uint64_t edges = std::min(kMost, nodes) * std::min<uint64_t>(static_cast<uint64_t>(fanouts[type]), 1 << 20);
      // (Temporal sampling expands a node once for each time.)
      if (!stream.spec.draw.replace && stream.spec.draw.time_column.empty()) {
        edges = std::min(edges, book.num_edges(EdgeTypeId(static_cast<uint16_t>(type))));
      }
      found = std::min(kMost, found + std::min(kMost, edges));
    }
    draws = std::min(kMost, draws + found);
    nodes = std::min(kMost, nodes + found);
  }
  return draws;
}

Status CheckDraws(const StreamPlan& stream, const graph::PartitionBook& book, const ServiceLimits& limits) {
  const uint64_t draws = MostDrawsOf(stream, book);
  if (draws <= limits.max_draws_per_batch) return Status();
  return ResourceExhausted("a mini-batch that may draw " + std::to_string(draws) + " edges, the limit is " +
                           std::to_string(limits.max_draws_per_batch));
}

Result<grpc::ByteBuffer> EncodeMiniBatch(const sampler::MiniBatch& batch) {
  minibatch::v1::MiniBatch header;
  header.set_epoch(batch.epoch);
  header.set_step(batch.step);
  header.set_seed_type(batch.seed_type.value);
  header.set_num_seeds(batch.num_seeds);
  header.set_global_num_seeds(batch.global_num_seeds);
  header.set_num_node_types(static_cast<uint32_t>(batch.nodes.size()));
  std::vector<Tensor> tensors;
  for (const std::vector<GlobalNodeId>& nodes : batch.nodes) tensors.push_back(IdTensor(nodes));
  for (const sampler::BatchLayer& layer : batch.layers) {
    minibatch::v1::Layer* entry = header.add_layers();
    entry->mutable_num_inputs()->Add(layer.num_inputs.begin(), layer.num_inputs.end());
    entry->mutable_num_outputs()->Add(layer.num_outputs.begin(), layer.num_outputs.end());
    for (const sampler::Block& block : layer.blocks) {
      entry->add_edge_types(block.edge_type.value);
      tensors.push_back(Tensor::FromVector(block.indptr));
      tensors.push_back(Tensor::FromVector(block.indices));
      tensors.push_back(IdTensor(block.edge_ids));
    }
  }
  header.set_has_times(!batch.times.empty());
  for (const std::vector<int64_t>& times : batch.times) tensors.push_back(Tensor::FromVector(times));
  if (batch.links.has_value()) AppendLinks(*batch.links, header.mutable_links(), &tensors);
  header.set_has_edges(batch.edges.has_value());
  if (batch.edges.has_value()) AppendEdges(*batch.edges, &tensors);
  rpc::DescribeTensors(tensors, header.mutable_tensors());
  RETURN_IF_ERROR(CheckHeader(header));
  return rpc::EncodeFrameBytes(header, tensors);
}

}  // namespace espalier::server
