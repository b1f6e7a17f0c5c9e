#include "services/sampler/fanout_sampler.h"

#include <limits>
#include <utility>

namespace espalier::sampler {
namespace {

Status CheckSpec(const SamplingSpec& spec, const graph::GraphSchema& schema) {
  for (size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const std::vector<int32_t>& fanouts = spec.layers[layer].fanouts;
    const std::string where = "layer " + std::to_string(layer);
    if (fanouts.size() != schema.num_edge_types()) {
      return InvalidArgument(where + " has " + std::to_string(fanouts.size()) + " fan-outs, expected one for each of " +
                             std::to_string(schema.num_edge_types()) + " edge types");
    }
    for (const int32_t fanout : fanouts) {
      if (fanout < kFullNeighborhood) {
        return InvalidArgument(where + " has fan-out " + std::to_string(fanout) +
                               ", expected a count, 0 (leave out) or -1 (all)");
      }
    }
  }
  return {};
}

std::vector<uint32_t> CountsOf(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  std::vector<uint32_t> counts;
  for (const auto& of_type : nodes) counts.push_back(static_cast<uint32_t>(of_type.size()));
  return counts;
}

}  // namespace

FanoutSampler::FanoutSampler(NeighborSource& source, SamplingSpec spec) : source_(&source), spec_(std::move(spec)) {
  const graph::PartitionBook& book = source.book();
  for (uint16_t type = 0; type < book.schema().num_node_types(); ++type) {
    numbering_.emplace_back(book.num_nodes(NodeTypeId(type)));
  }
}

Result<FanoutSampler> FanoutSampler::Make(NeighborSource& source, SamplingSpec spec) {
  RETURN_IF_ERROR(CheckSpec(spec, source.book().schema()));
  return FanoutSampler(source, std::move(spec));
}

Status FanoutSampler::CheckRequest(const BatchRequest& request) const {
  const graph::PartitionBook& book = source_->book();
  if (request.seed_type.value >= book.schema().num_node_types()) {
    return InvalidArgument("seed type " + std::to_string(request.seed_type.value) + " is not a node type");
  }
  const uint64_t num_nodes = book.num_nodes(request.seed_type);
  for (const GlobalNodeId seed : request.seeds) {
    if (seed.value >= num_nodes) {
      return InvalidArgument("seed " + std::to_string(seed.value) + " is not a node of type '" +
                             book.schema().NodeTypeName(request.seed_type) + "', which has " +
                             std::to_string(num_nodes));
    }
  }
  return {};
}

Status FanoutSampler::NumberSeeds(const BatchRequest& request, MiniBatch& batch) {
  std::vector<uint32_t> numbers(request.seeds.size());
  std::vector<GlobalNodeId>& nodes = batch.nodes[request.seed_type.value];
  numbering_[request.seed_type.value].Number(request.seeds, nodes, numbers.data());
  if (nodes.size() != request.seeds.size()) return InvalidArgument("the seeds of a mini-batch must be distinct");
  batch.num_seeds = static_cast<uint32_t>(nodes.size());
  return {};
}

Result<Block> FanoutSampler::MakeBlock(const RelationQuery& query, RelationSample sample, MiniBatch& batch) {
  if (sample.sources.size() > std::numeric_limits<uint32_t>::max()) {
    return ResourceExhausted(
        "a mini-batch would have 2^32 edges of a relation or more; use smaller fan-outs or batches");
  }
  Block block{.edge_type = query.edge_type};
  block.indptr.reserve(sample.offsets.size());
  for (const uint64_t offset : sample.offsets) block.indptr.push_back(static_cast<uint32_t>(offset));
  block.indices.resize(sample.sources.size());
  const uint16_t source_type = source_->book().schema().SourceOf(query.edge_type).value;
  numbering_[source_type].Number(sample.sources, batch.nodes[source_type], block.indices.data());
  block.edge_ids = std::move(sample.edge_ids);
  return block;
}

Result<BatchLayer> FanoutSampler::ExpandHop(const BatchRequest& request, uint32_t hop, MiniBatch& batch,
                                            Deadline deadline) {
  const graph::GraphSchema& schema = source_->book().schema();
  const LayerSpec& layer_spec = spec_.layers[spec_.layers.size() - 1 - hop];
  HopQuery query{.seed = spec_.seed,
                 .at = {.epoch = request.epoch, .step = request.step, .hop = hop},
                 .replace = spec_.replace,
                 .weight_column = spec_.weight_column,
                 .want_edge_ids = request.want_edge_ids};
  for (uint16_t type = 0; type < schema.num_edge_types(); ++type) {
    if (layer_spec.fanouts[type] == 0) continue;
    const uint16_t destination_type = schema.DestinationOf(EdgeTypeId(type)).value;
    query.relations.push_back({.edge_type = EdgeTypeId(type),
                               .fanout = layer_spec.fanouts[type],
                               .destinations = batch.nodes[destination_type]});
  }
  BatchLayer layer{.num_outputs = CountsOf(batch.nodes)};
  ASSIGN_OR_RETURN(HopSample sample, source_->SampleInEdges(query, deadline));
  for (size_t i = 0; i < query.relations.size(); ++i) {
    // (From here on batch.nodes grows and the query's spans are not read again.)
    ASSIGN_OR_RETURN(Block block, MakeBlock(query.relations[i], std::move(sample.relations[i]), batch));
    layer.blocks.push_back(std::move(block));
  }
  layer.num_inputs = CountsOf(batch.nodes);
  return layer;
}

Result<MiniBatch> FanoutSampler::Sample(const BatchRequest& request, Deadline deadline) {
  RETURN_IF_ERROR(CheckRequest(request));
  for (NodeNumbering& numbering : numbering_) numbering.StartBatch();
  MiniBatch batch{.epoch = request.epoch,
                  .step = request.step,
                  .seed_type = request.seed_type,
                  .global_num_seeds = request.global_num_seeds};
  batch.nodes.resize(numbering_.size());
  batch.layers.resize(spec_.layers.size());
  RETURN_IF_ERROR(NumberSeeds(request, batch));
  for (uint32_t hop = 0; hop < spec_.layers.size(); ++hop) {
    ASSIGN_OR_RETURN(BatchLayer layer, ExpandHop(request, hop, batch, deadline));
    batch.layers[spec_.layers.size() - 1 - hop] = std::move(layer);
  }
  return batch;
}

Result<MiniBatch> SampleMiniBatch(NeighborSource& source, const SamplingSpec& spec, uint32_t epoch, uint32_t step,
                                  NodeTypeId seed_type, std::span<const GlobalNodeId> seeds, uint32_t global_num_seeds,
                                  Deadline deadline) {
  ASSIGN_OR_RETURN(FanoutSampler sampler, FanoutSampler::Make(source, spec));
  return sampler.Sample(
      {.epoch = epoch, .step = step, .seed_type = seed_type, .seeds = seeds, .global_num_seeds = global_num_seeds},
      deadline);
}

}  // namespace espalier::sampler
