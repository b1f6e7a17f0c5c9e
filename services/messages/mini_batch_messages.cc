// A batch is one frame: a header with each layer's relations and its numbers of rows by node type, then the tensors:
// nodes by type, the blocks of each layer, times, and the links or edges. Decoding walks header and tensors together
// and checks each layer against the previous one, so that every index of a decoded batch is in range.
#include "services/messages/mini_batch_messages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/messages/draw_messages.h"
#include "services/messages/edge_messages.h"
#include "services/messages/link_messages.h"
#include "services/messages/wire_ids.h"
#include "services/rpc/frame.h"
#include "services/sampler/spec/draw_difference.h"

namespace espalier::messages {
namespace {

template <class Id>
std::vector<Id> ToIds(const Tensor& tensor) {
  std::vector<Id> ids;
  ids.reserve(static_cast<size_t>(tensor.num_elements()));
  if (tensor.empty()) return ids;
  if (tensor.dtype() == DType::kU32) {
    for (const uint32_t id : tensor.values<uint32_t>()) ids.emplace_back(id);
  } else {
    for (const uint64_t id : tensor.values<uint64_t>()) ids.emplace_back(id);
  }
  return ids;
}

Result<sampler::Block> DecodeBlock(EdgeTypeId type, std::span<const Tensor> tensors, const sampler::BatchLayer& layer,
                                   const graph::PartitionBook& book) {
  const graph::GraphSchema& schema = book.schema();
  const uint32_t rows_read = layer.num_inputs[schema.SourceOf(type).value];
  const uint32_t rows_written = layer.num_outputs[schema.DestinationOf(type).value];
  if (tensors[0].dtype() != DType::kU32 || tensors[1].dtype() != DType::kU32) {
    return InvalidArgument("a block's offsets or indices are not U32");
  }
  sampler::Block block;
  block.edge_type = type;
  const auto indptr = tensors[0].values<uint32_t>();
  const auto indices = tensors[1].values<uint32_t>();
  block.indptr.assign(indptr.begin(), indptr.end());
  block.indices.assign(indices.begin(), indices.end());
  const bool is_csc = block.indptr.size() == size_t{rows_written} + 1 && block.indptr.front() == 0 &&
                      block.indptr.back() == block.indices.size() &&
                      std::is_sorted(block.indptr.begin(), block.indptr.end());
  if (!is_csc) return InvalidArgument("a block's offsets do not ascend from 0 to its number of edges");
  RETURN_IF_ERROR(CheckIds(tensors[1], block.indices.size(), rows_read, "rows of a block"));
  if (!tensors[2].empty()) {
    RETURN_IF_ERROR(CheckIds(tensors[2], block.indices.size(), book.num_edges(type), "edge ids"));
    block.edge_ids = ToIds<GlobalEdgeId>(tensors[2]);
  }
  return block;
}

// Checks a layer. `rows` is the number of rows that the layer must read, by node type: those that the previous layer
// writes or, for the first layer, the batch's nodes. The layer must not write more rows than it reads. It must have one
// block for each edge type with a fan-out other than 0, by ascending type, because a model identifies blocks by their
// position.
Status CheckLayer(const minibatch::v1::Layer& layer, const sampler::LayerSpec& spec,
                  const std::vector<uint32_t>& rows) {
  if (!std::equal(rows.begin(), rows.end(), layer.num_inputs().begin(), layer.num_inputs().end()) ||
      static_cast<size_t>(layer.num_outputs_size()) != rows.size()) {
    return InvalidArgument("a layer's input rows do not match the previous layer's output rows by node type");
  }
  for (size_t type = 0; type < rows.size(); ++type) {
    if (layer.num_outputs(static_cast<int>(type)) > rows[type]) {
      return InvalidArgument("a layer writes more rows than it reads");
    }
  }
  std::vector<uint32_t> expected;
  for (uint32_t type = 0; type < spec.fanouts.size(); ++type) {
    if (spec.fanouts[type] != 0) expected.push_back(type);
  }
  if (std::equal(expected.begin(), expected.end(), layer.edge_types().begin(), layer.edge_types().end())) return {};
  return InvalidArgument("a layer's " + std::to_string(layer.edge_types_size()) + " blocks are not those of its " +
                         std::to_string(expected.size()) + " edge types with a fan-out");
}

// Decodes the layers of the spec from the first tensors of `tensors`, and removes these from `tensors`. Returns the
// number of rows that the last layer writes, by node type.
Result<std::vector<uint32_t>> TakeLayers(const minibatch::v1::MiniBatch& header, const sampler::SamplingSpec& spec,
                                         const graph::PartitionBook& book, std::span<const Tensor>& tensors,
                                         sampler::MiniBatch& batch) {
  if (static_cast<size_t>(header.layers_size()) != spec.layers.size()) {
    return InvalidArgument("a mini-batch of " + std::to_string(header.layers_size()) + " layers, expected " +
                           std::to_string(spec.layers.size()));
  }
  std::vector<uint32_t> rows;
  for (const std::vector<GlobalNodeId>& nodes : batch.nodes) rows.push_back(static_cast<uint32_t>(nodes.size()));
  for (size_t l = 0; l < spec.layers.size(); ++l) {
    const minibatch::v1::Layer& layer = header.layers(static_cast<int>(l));
    RETURN_IF_ERROR(CheckLayer(layer, spec.layers[l], rows));
    sampler::BatchLayer& out = batch.layers.emplace_back();
    out.num_inputs = rows;
    out.num_outputs.assign(layer.num_outputs().begin(), layer.num_outputs().end());
    rows = out.num_outputs;
    for (const uint32_t number : layer.edge_types()) {
      if (number >= book.schema().num_edge_types())
        return InvalidArgument("edge type " + std::to_string(number) + " does not exist");
      const EdgeTypeId type(static_cast<uint16_t>(number));
      ASSIGN_OR_RETURN(sampler::Block block, DecodeBlock(type, tensors.first(3), out, book));
      out.blocks.push_back(std::move(block));
      tensors = tensors.subspan(3);
    }
  }
  return rows;
}

// The kind of a batch's seeds.
enum class SeedKind { kNodes, kLinks, kEdges };

const char* WordFor(SeedKind kind) {
  switch (kind) {
    case SeedKind::kNodes: return "nodes";
    case SeedKind::kLinks: return "links";
    case SeedKind::kEdges: return "labeled edges";
  }
  return "nodes";
}

SeedKind ToSeedKind(const sampler::EpochPlan& plan) {
  if (plan.links() != nullptr) return SeedKind::kLinks;
  return plan.edges() != nullptr ? SeedKind::kEdges : SeedKind::kNodes;
}

size_t CountTensors(SeedKind kind, const minibatch::v1::MiniBatch& header) {
  switch (kind) {
    case SeedKind::kNodes: return 0;
    case SeedKind::kLinks: return NumLinkTensors(header.links());
    case SeedKind::kEdges: return kEdgeTensors;
  }
  return 0;
}

Status CheckKind(const minibatch::v1::MiniBatch& header, SeedKind expected) {
  const bool is_expected =
      header.has_links() == (expected == SeedKind::kLinks) && header.has_edges() == (expected == SeedKind::kEdges);
  if (is_expected) return Status();
  const SeedKind found = header.has_links()   ? SeedKind::kLinks
                         : header.has_edges() ? SeedKind::kEdges
                                              : SeedKind::kNodes;
  return InvalidArgument(std::string("a mini-batch of ") + WordFor(found) + ", expected " + WordFor(expected));
}

// Compares the options that the sampler has used with the requested ones: a sampler of an older version ignores unknown
// options.
Status CheckSampledAsRequested(const minibatch::v1::MiniBatch& header, const sampler::DrawSpec& requested) {
  sampler::DrawSpec drawn = requested;
  if (header.has_drawn_by()) {
    ASSIGN_OR_RETURN(drawn, DecodeDraw(header.drawn_by()));
  } else {
    drawn.expand = sampler::Expand::kAlways;
  }
  const auto difference = sampler::FirstDifference(drawn, requested);
  if (!difference.has_value()) return Status();
  return Unimplemented("the sampler has drawn with " + difference->option + " " + difference->first +
                       ", the request has " + difference->second +
                       ": the sampler has another version; start samplers of this process's version, or sample in "
                       "this process");
}

Status MoreThanInStep(uint64_t count, const char* items, const sampler::MiniBatch& batch) {
  return InvalidArgument("a mini-batch with " + std::to_string(count) + " " + items + ", but the step has only " +
                         std::to_string(batch.global_num_seeds) + " over all trainers");
}

// Checks that the last layer writes one row for each seed. `rows` is the number of rows that it writes, by node type.
// For a plan of nodes, also checks that the seeds have the plan's type and are at most global_num_seeds. For links or
// edges, the seeds are endpoints of any type, and global_num_seeds counts edges (checked by CheckCountOfEdges).
Status CheckSeeds(SeedKind kind, const sampler::EpochPlan& plan, const std::vector<uint32_t>& rows,
                  const sampler::MiniBatch& batch) {
  uint64_t num_seeds = 0;
  for (const uint32_t of_type : rows) num_seeds += of_type;
  if (num_seeds != batch.num_seeds) {
    return InvalidArgument(std::string("a mini-batch of ") + WordFor(kind) + " with " +
                           std::to_string(batch.num_seeds) + " seeds, but its last layer writes " +
                           std::to_string(num_seeds) + " rows");
  }
  if (kind != SeedKind::kNodes) return Status();
  if (batch.seed_type != plan.seed_type || rows[batch.seed_type.value] != num_seeds) {
    return InvalidArgument("a mini-batch whose seeds are not of node type " + std::to_string(plan.seed_type.value));
  }
  if (num_seeds <= batch.global_num_seeds) return Status();
  return MoreThanInStep(num_seeds, "seeds", batch);
}

Status CheckCountOfEdges(size_t num_edges, const sampler::MiniBatch& batch) {
  if (num_edges <= batch.global_num_seeds) return Status();
  return MoreThanInStep(num_edges, "edges", batch);
}

// Decodes the links or labeled edges from the last tensors. Does nothing for a plan of nodes.
Status TakeEdges(const minibatch::v1::MiniBatch& header, std::span<const Tensor> tensors,
                 const sampler::EpochPlan& plan, const graph::PartitionBook& book, sampler::MiniBatch& batch) {
  const SeedKind kind = ToSeedKind(plan);
  if (kind == SeedKind::kNodes) return Status();
  if (kind == SeedKind::kLinks) {
    const LinkBounds bounds{.num_seeds = batch.num_seeds,
                            .num_edges = book.num_edges(plan.links()->types.front().edge_type)};
    ASSIGN_OR_RETURN(batch.links, DecodeLinkSeeds(header.links(), tensors.last(NumLinkTensors(header.links())),
                                                  *plan.links(), bounds));
    return CheckCountOfEdges(batch.links->sources.size(), batch);
  }
  ASSIGN_OR_RETURN(batch.edges, DecodeEdgeSeeds(tensors.last<kEdgeTensors>(), batch.num_seeds));
  return CheckCountOfEdges(batch.edges->sources.size(), batch);
}

// Checks the size of the header. Layers with many relations can exceed the limit, because even an empty block adds at
// least 22 bytes.
Status CheckHeader(const minibatch::v1::MiniBatch& header) {
  const size_t size_bytes = header.ByteSizeLong();
  if (size_bytes <= rpc::kMaxHeaderBytes) return Status();
  size_t num_blocks = 0;
  for (const minibatch::v1::Layer& layer : header.layers()) num_blocks += static_cast<size_t>(layer.edge_types_size());
  return ResourceExhausted("a mini-batch of " + std::to_string(header.layers_size()) + " layers with " +
                           std::to_string(num_blocks) + " relations in total, of " +
                           std::to_string(header.num_node_types()) + " node types, whose description takes " +
                           std::to_string(size_bytes) + " bytes, the limit is " + std::to_string(rpc::kMaxHeaderBytes) +
                           ": leave relations out of layers (fan-out 0)");
}

}  // namespace

Result<grpc::ByteBuffer> EncodeMiniBatch(const sampler::MiniBatch& batch, const sampler::DrawSpec& draw) {
  minibatch::v1::MiniBatch header;
  header.set_epoch(batch.epoch);
  header.set_step(batch.step);
  header.set_seed_type(batch.seed_type.value);
  header.set_num_seeds(batch.num_seeds);
  header.set_global_num_seeds(batch.global_num_seeds);
  header.set_num_node_types(static_cast<uint32_t>(batch.nodes.size()));
  EncodeDraw(draw, header.mutable_drawn_by());
  std::vector<Tensor> tensors;
  for (const std::vector<GlobalNodeId>& nodes : batch.nodes) tensors.push_back(WideIdTensor(nodes));
  for (const sampler::BatchLayer& layer : batch.layers) {
    minibatch::v1::Layer* entry = header.add_layers();
    entry->mutable_num_inputs()->Add(layer.num_inputs.begin(), layer.num_inputs.end());
    entry->mutable_num_outputs()->Add(layer.num_outputs.begin(), layer.num_outputs.end());
    for (const sampler::Block& block : layer.blocks) {
      entry->add_edge_types(block.edge_type.value);
      tensors.push_back(Tensor::FromVector(block.indptr));
      tensors.push_back(Tensor::FromVector(block.indices));
      tensors.push_back(WideIdTensor(block.edge_ids));
    }
  }
  header.set_has_times(!batch.times.empty());
  for (const std::vector<int64_t>& times : batch.times) tensors.push_back(Tensor::FromVector(times));
  if (batch.links.has_value()) EncodeLinkSeeds(*batch.links, header.mutable_links(), &tensors);
  header.set_has_edges(batch.edges.has_value());
  if (batch.edges.has_value()) EncodeEdgeSeeds(*batch.edges, &tensors);
  rpc::DescribeTensors(tensors, header.mutable_tensors());
  RETURN_IF_ERROR(CheckHeader(header));
  return rpc::EncodeFrameBytes(header, tensors);
}

Result<sampler::MiniBatch> DecodeMiniBatch(const grpc::ByteBuffer& message, const graph::PartitionBook& book,
                                           const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec) {
  ASSIGN_OR_RETURN(const rpc::Frame<minibatch::v1::MiniBatch> frame,
                   rpc::DecodeFrame<minibatch::v1::MiniBatch>(message));
  const minibatch::v1::MiniBatch& header = frame.header;
  const size_t num_types = book.schema().num_node_types();
  const SeedKind kind = ToSeedKind(plan);
  RETURN_IF_ERROR(CheckSampledAsRequested(header, spec.draw));
  RETURN_IF_ERROR(CheckKind(header, kind));
  size_t num_tensors = (header.has_times() ? 2 * num_types : num_types) + CountTensors(kind, header);
  for (const minibatch::v1::Layer& layer : header.layers()) {
    num_tensors += 3 * static_cast<size_t>(layer.edge_types_size());
  }
  if (header.num_node_types() != num_types || header.seed_type() >= num_types || frame.tensors.size() != num_tensors) {
    return InvalidArgument("a mini-batch of " + std::to_string(header.num_node_types()) + " node types in " +
                           std::to_string(frame.tensors.size()) + " tensors, expected " + std::to_string(num_types) +
                           " in " + std::to_string(num_tensors));
  }
  sampler::MiniBatch batch;
  batch.epoch = header.epoch();
  batch.step = header.step();
  batch.seed_type = NodeTypeId(static_cast<uint16_t>(header.seed_type()));
  batch.num_seeds = header.num_seeds();
  batch.global_num_seeds = header.global_num_seeds();
  for (size_t type = 0; type < num_types; ++type) {
    const Tensor& nodes = frame.tensors[type];
    const uint64_t limit = book.num_nodes(NodeTypeId(static_cast<uint16_t>(type)));
    RETURN_IF_ERROR(CheckIds(nodes, static_cast<uint64_t>(nodes.num_elements()), limit, "nodes of a batch"));
    batch.nodes.push_back(ToIds<GlobalNodeId>(nodes));
  }
  std::span<const Tensor> tensors = std::span(frame.tensors).subspan(num_types);
  ASSIGN_OR_RETURN(const std::vector<uint32_t> written, TakeLayers(header, spec, book, tensors, batch));
  RETURN_IF_ERROR(CheckSeeds(kind, plan, written, batch));
  for (size_t type = 0; header.has_times() && type < num_types; ++type) {
    if (tensors[type].dtype() != DType::kI64 ||
        static_cast<size_t>(tensors[type].num_elements()) != batch.nodes[type].size()) {
      return InvalidArgument("the times of " + std::to_string(batch.nodes[type].size()) + " nodes are " +
                             tensors[type].ToString());
    }
    batch.times.emplace_back(tensors[type].values<int64_t>().begin(), tensors[type].values<int64_t>().end());
  }
  RETURN_IF_ERROR(TakeEdges(header, frame.tensors, plan, book, batch));
  return batch;
}

}  // namespace espalier::messages
