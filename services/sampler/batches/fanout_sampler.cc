// Sample builds the batch from the seeds outward. A row is an entry of batch.nodes. ExpandHop sends one query for all
// relations of a hop, with the rows found so far (or only the new ones) as destinations, and MakeBlock numbers the
// drawn sources, which appends rows for new nodes. Since rows are only appended, the outputs of a layer are a prefix of
// its inputs. With Expand::kOnce a block starts with the in-edges drawn in earlier hops (FindEarlierDraws) and
// continues with those of the new rows. Temporal sampling uses the same steps with (node, time) pairs as rows.
#include "services/sampler/batches/fanout_sampler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "services/sampler/access/draw_rule.h"

namespace espalier::sampler {
namespace {

Status CheckSpec(const SamplingSpec& spec, const graph::GraphSchema& schema) {
  RETURN_IF_ERROR(CheckDrawMethod(spec.draw.method, spec.draw.replace));
  if (spec.draw.time_column.empty() && !spec.seed_time_column.empty()) {
    return InvalidArgument("the seed times (column '" + spec.seed_time_column + "') need a time column of the edges");
  }
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
                               ", expected a count, 0 (omit) or -1 (all)");
      }
    }
  }
  return {};
}

std::vector<uint32_t> CountByType(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  std::vector<uint32_t> counts;
  for (const auto& of_type : nodes) counts.push_back(static_cast<uint32_t>(of_type.size()));
  return counts;
}

// Returns, by node type, how many rows the hops before `hop` have expanded.
std::vector<uint32_t> CountExpandedRows(const MiniBatch& batch, uint32_t hop) {
  if (hop == 0) return std::vector<uint32_t>(batch.nodes.size(), 0);
  return batch.layers[batch.layers.size() - hop].num_outputs;
}

// Returns the in-edges of type `type` that hops before `hop` have drawn for the first `num_rows` rows of its
// destination type. They are all in one block: that of the last hop before `hop` that sampled this edge type. Rows that
// were added in or after that hop have no in-edges.
Block FindEarlierDraws(const MiniBatch& batch, uint32_t hop, EdgeTypeId type, uint32_t num_rows) {
  Block earlier{.edge_type = type, .indptr = {0}};
  for (size_t layer = batch.layers.size() - hop; layer < batch.layers.size(); ++layer) {
    const std::vector<Block>& blocks = batch.layers[layer].blocks;
    const auto found =
        std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) { return block.edge_type == type; });
    if (found == blocks.end()) continue;
    earlier = *found;
    break;
  }
  const uint32_t num_edges = earlier.indptr.back();
  earlier.indptr.resize(size_t{num_rows} + 1, num_edges);
  return earlier;
}

}  // namespace

FanoutSampler::FanoutSampler(NeighborSource& source, SamplingSpec spec) : source_(&source), spec_(std::move(spec)) {
  const graph::PartitionBook& book = source.book();
  for (uint16_t type = 0; type < book.schema().num_node_types(); ++type) {
    if (is_temporal()) {
      timed_numbering_.emplace_back();
    } else {
      numbering_.emplace_back(book.num_nodes(NodeTypeId(type)));
    }
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
  if (request.excluded != nullptr && request.excluded->size() != book.schema().num_edge_types()) {
    return InvalidArgument("excluded edges for " + std::to_string(request.excluded->size()) +
                           " edge types, expected one list for each of " +
                           std::to_string(book.schema().num_edge_types()));
  }
  if (request.typed_seeds.empty()) return CheckSeeds(request.seed_type, request.seeds);
  if (request.typed_seeds.size() != book.schema().num_node_types() || !request.seeds.empty()) {
    return InvalidArgument("seeds for " + std::to_string(request.typed_seeds.size()) +
                           " node types, expected one list for each of " +
                           std::to_string(book.schema().num_node_types()) + ", and no other seeds");
  }
  for (uint16_t type = 0; type < request.typed_seeds.size(); ++type) {
    RETURN_IF_ERROR(CheckSeeds(NodeTypeId(type), request.typed_seeds[type]));
  }
  return {};
}

Status FanoutSampler::CheckSeeds(NodeTypeId type, std::span<const GlobalNodeId> seeds) const {
  const graph::PartitionBook& book = source_->book();
  const uint64_t num_nodes = book.num_nodes(type);
  for (const GlobalNodeId seed : seeds) {
    if (seed.value >= num_nodes) {
      return InvalidArgument("seed " + std::to_string(seed.value) + " is not a node of type '" +
                             book.schema().NodeTypeName(type) + "', which has " + std::to_string(num_nodes) + " nodes");
    }
  }
  return {};
}

Status FanoutSampler::NumberSeeds(const BatchRequest& request, MiniBatch& batch, Deadline deadline) {
  if (request.typed_seeds.empty()) {
    return NumberSeeds(request.seed_type, request.seeds, request.seed_times, batch, deadline);
  }
  if (!request.seed_times.empty()) return InvalidArgument("seeds by node type cannot have times");
  for (uint16_t type = 0; type < request.typed_seeds.size(); ++type) {
    RETURN_IF_ERROR(NumberSeeds(NodeTypeId(type), request.typed_seeds[type], {}, batch, deadline));
  }
  return {};
}

Status FanoutSampler::NumberSeeds(NodeTypeId type, std::span<const GlobalNodeId> seeds,
                                  std::span<const int64_t> seed_times, MiniBatch& batch, Deadline deadline) {
  std::vector<uint32_t> numbers(seeds.size());
  std::vector<GlobalNodeId>& nodes = batch.nodes[type.value];
  if (is_temporal()) {
    std::vector<int64_t> times(seed_times.begin(), seed_times.end());
    if (times.empty() && !seeds.empty()) {
      if (spec_.seed_time_column.empty()) return InvalidArgument("temporal sampling needs the times of the seeds");
      ASSIGN_OR_RETURN(times, source_->ReadTimes(type, spec_.seed_time_column, seeds, deadline));
    }
    if (times.size() != seeds.size()) {
      return InvalidArgument("found " + std::to_string(times.size()) + " seed times, expected one for each of " +
                             std::to_string(seeds.size()) + " seeds");
    }
    timed_numbering_[type.value].Number(seeds, times, nodes, batch.times[type.value], numbers.data());
  } else if (!seed_times.empty()) {
    return InvalidArgument("times of the seeds need a time column of the edges");
  } else {
    numbering_[type.value].Number(seeds, nodes, numbers.data());
  }
  if (nodes.size() != seeds.size()) return InvalidArgument("the seeds of a mini-batch must be distinct");
  batch.num_seeds += static_cast<uint32_t>(nodes.size());
  return {};
}

Result<Block> FanoutSampler::MakeBlock(const RelationQuery& query, uint32_t first_row, Block earlier,
                                       RelationSample sample, MiniBatch& batch) {
  const size_t num_earlier = earlier.indices.size();
  if (num_earlier + sample.sources.size() > std::numeric_limits<uint32_t>::max()) {
    return ResourceExhausted(
        "a mini-batch would have 2^32 or more edges of one edge type; use smaller fan-outs or batches");
  }
  Block block = std::move(earlier);
  block.indptr.reserve(block.indptr.size() + sample.offsets.size() - 1);
  for (size_t i = 1; i < sample.offsets.size(); ++i) {
    block.indptr.push_back(static_cast<uint32_t>(num_earlier + sample.offsets[i]));
  }
  block.indices.resize(num_earlier + sample.sources.size());
  const uint16_t source_type = source_->book().schema().SourceOf(query.edge_type).value;
  std::vector<GlobalNodeId>& nodes = batch.nodes[source_type];
  if (is_temporal()) {
    const uint16_t destination_type = source_->book().schema().DestinationOf(query.edge_type).value;
    std::vector<int64_t> inherited;
    inherited.reserve(sample.sources.size());
    for (size_t i = 0; i + 1 < sample.offsets.size(); ++i) {
      inherited.insert(inherited.end(), sample.offsets[i + 1] - sample.offsets[i],
                       batch.times[destination_type][first_row + i]);
    }
    timed_numbering_[source_type].Number(sample.sources, inherited, nodes, batch.times[source_type],
                                         block.indices.data() + num_earlier);
  } else {
    numbering_[source_type].Number(sample.sources, nodes, block.indices.data() + num_earlier);
  }
  if (block.edge_ids.empty()) {
    block.edge_ids = std::move(sample.edge_ids);
  } else {
    block.edge_ids.insert(block.edge_ids.end(), sample.edge_ids.begin(), sample.edge_ids.end());
  }
  return block;
}

Result<BatchLayer> FanoutSampler::ExpandHop(const BatchRequest& request, uint32_t hop, MiniBatch& batch,
                                            Deadline deadline) {
  const graph::GraphSchema& schema = source_->book().schema();
  const LayerSpec& layer_spec = spec_.layers[spec_.layers.size() - 1 - hop];
  // The number of earlier hops whose rows this hop does not expand again.
  const uint32_t hops_before = spec_.draw.expand == Expand::kOnce ? hop : 0;
  const std::vector<uint32_t> first_rows = CountExpandedRows(batch, hops_before);
  HopQuery query{.seed = spec_.seed,
                 .at = {.epoch = request.epoch, .step = request.step, .hop = hop},
                 .draw = spec_.draw,
                 .want_edge_ids = request.want_edge_ids};
  std::vector<Block> earlier;  // by relation of the query
  for (uint16_t type = 0; type < schema.num_edge_types(); ++type) {
    if (layer_spec.fanouts[type] == 0) continue;
    const uint16_t destination_type = schema.DestinationOf(EdgeTypeId(type)).value;
    const uint32_t first_row = first_rows[destination_type];
    query.relations.push_back({.edge_type = EdgeTypeId(type),
                               .fanout = layer_spec.fanouts[type],
                               .destinations = std::span(batch.nodes[destination_type]).subspan(first_row)});
    if (is_temporal()) query.relations.back().times = std::span(batch.times[destination_type]).subspan(first_row);
    if (request.excluded != nullptr) query.relations.back().excluded = (*request.excluded)[type];
    earlier.push_back(FindEarlierDraws(batch, hops_before, EdgeTypeId(type), first_row));
  }
  BatchLayer layer{.num_outputs = CountByType(batch.nodes)};
  HopSample sample;
  if (!query.relations.empty()) {
    ASSIGN_OR_RETURN(sample, source_->SampleInEdges(query, deadline));
  }
  for (const RelationSample& relation : sample.relations) num_edges_ += relation.sources.size();
  for (const Block& block : earlier) num_edges_ += block.indices.size();
  if (num_edges_ > spec_.max_edges) {
    return ResourceExhausted("a mini-batch has " + std::to_string(num_edges_) + " edges up to hop " +
                             std::to_string(hop) + ", the limit is " + std::to_string(spec_.max_edges));
  }
  for (size_t i = 0; i < query.relations.size(); ++i) {
    // From here on batch.nodes grows, which invalidates the query's spans; they are not read again.
    const uint32_t first_row = first_rows[schema.DestinationOf(query.relations[i].edge_type).value];
    ASSIGN_OR_RETURN(Block block, MakeBlock(query.relations[i], first_row, std::move(earlier[i]),
                                            std::move(sample.relations[i]), batch));
    layer.blocks.push_back(std::move(block));
  }
  layer.num_inputs = CountByType(batch.nodes);
  return layer;
}

Result<MiniBatch> FanoutSampler::Sample(const BatchRequest& request, Deadline deadline) {
  RETURN_IF_ERROR(CheckRequest(request));
  for (NodeNumbering& numbering : numbering_) numbering.StartBatch();
  for (TimedNumbering& numbering : timed_numbering_) numbering.StartBatch();
  num_edges_ = 0;
  MiniBatch batch{.epoch = request.epoch,
                  .step = request.step,
                  .seed_type = request.seed_type,
                  .global_num_seeds = request.global_num_seeds};
  batch.nodes.resize(source_->book().schema().num_node_types());
  if (is_temporal()) batch.times.resize(batch.nodes.size());
  batch.layers.resize(spec_.layers.size());
  RETURN_IF_ERROR(NumberSeeds(request, batch, deadline));
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
