// ComputeHidden computes layer by layer: ComputeLayer creates the tensors of a layer on all ranks, each rank computes
// its chunks and writes them, and after a status exchange the tensors of the previous layer are dropped. For each
// chunk, a rank samples one hop with all in-edges, gathers the rows of the previous layer (layer 0: the inputs) and
// runs the layer. The last layer is computed on demand by ForSplit and ForAllNodes and is not stored. before_chunk is
// called before each chunk and between the requests of a chunk, so that a stop request is noticed early.
#include "services/trainer/evaluation/full_inference.h"

#include <algorithm>

#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/evaluation/stored_tensors.h"
#include "services/trainer/model/model_error.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {

FullInference::FullInference(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                             const InferenceOptions& options)
    : graph_(graph), data_(&data), collective_(&collective), options_(options) {}

Result<FullInference> FullInference::Make(GraphAccess graph, const NodeData& data, const sampler::SamplingSpec& spec,
                                          collective::Collective& collective, const InferenceOptions& options) {
  FullInference inference(graph, data, collective, options);
  inference.types_ = ListTypes(spec, graph.schema(), data.seed_types());
  for (size_t layer = 0; layer < spec.layers.size(); ++layer) {
    ASSIGN_OR_RETURN(sampler::FanoutSampler sampler,
                     sampler::FanoutSampler::Make(graph.neighbors, MakeFullNeighborhood(spec, layer)));
    inference.samplers_.push_back(std::move(sampler));
  }
  return inference;
}

Status FullInference::ComputeHidden(Model& model, const std::string& prefix) {
  const int last = model.num_layers() - 1;
  for (int layer = 0; layer < last; ++layer) {
    const Tensors previous = hidden_;
    RETURN_IF_ERROR(ComputeLayer(model, layer, prefix + "-l" + std::to_string(layer))
                        .While("computing layer " + std::to_string(layer) + " for all nodes"));
    RETURN_IF_ERROR(Agree(DropTensors(graph_, previous, *collective_, options_.timeouts.data)));
  }
  return Status();
}

uint64_t FullInference::CountHiddenRows() const {
  uint64_t rows = 0;
  for (size_t layer = 1; layer < samplers_.size(); ++layer) {
    for (const NodeTypeId type : types_[layer]) rows += graph_.neighbors.book().num_nodes(type);
  }
  return rows;
}

void FullInference::CountChunk(uint64_t chunk, uint64_t num_nodes) const {
  const uint64_t first = chunk * options_.chunk_nodes;
  options_.phases.Add(std::min(num_nodes - first, options_.chunk_nodes));
}

Status FullInference::ComputeLayer(Model& model, int layer, const std::string& prefix) {
  Tensors written;
  for (const NodeTypeId type : types_[static_cast<size_t>(layer) + 1]) written[type] = prefix;
  unfinished_ = written;
  RETURN_IF_ERROR(CreateOnAllRanks(graph_, types_[static_cast<size_t>(layer) + 1], prefix, model.OutputWidth(layer),
                                   *collective_, options_.timeouts));
  RETURN_IF_ERROR(Agree(ComputeChunks(model, layer, written)));
  hidden_ = std::move(written);
  unfinished_.clear();
  return Status();
}

Status FullInference::ComputeChunks(Model& model, int layer, const Tensors& written) {
  uint64_t first_chunk = 0;  // number of the type's first chunk; chunks of all types are numbered consecutively
  for (const auto& [type, name] : written) {
    const uint64_t num_chunks = NumChunks(graph_.neighbors.book().num_nodes(type));
    for (uint64_t chunk = 0; chunk < num_chunks; ++chunk) {
      if (IsMine(first_chunk + chunk)) RETURN_IF_ERROR(ComputeChunk(model, layer, type, chunk, name));
      CountChunk(chunk, graph_.neighbors.book().num_nodes(type));
    }
    first_chunk += num_chunks;
  }
  return Status();
}

Status FullInference::ComputeChunk(Model& model, int layer, NodeTypeId type, uint64_t chunk,
                                   const std::string& tensor) {
  RETURN_IF_ERROR(options_.BeforeChunk());
  const Deadline deadline = options_.timeouts.ForData();
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, ListChunkNodes(type, chunk, deadline));
  ASSIGN_OR_RETURN(const torch::Tensor outputs, ComputeOutputs(model, layer, type, nodes, deadline));
  RETURN_IF_ERROR(options_.BeforeChunk());
  return NotFoundToDataLoss(graph_.tensors.WriteRows(type, tensor, nodes, FromTorch(outputs), deadline));
}

Result<std::vector<GlobalNodeId>> FullInference::ListChunkNodes(NodeTypeId type, uint64_t chunk, Deadline deadline) {
  const uint64_t num_nodes = graph_.neighbors.book().num_nodes(type);
  const uint64_t first = chunk * options_.chunk_nodes;
  const uint64_t end = std::min(num_nodes, first + options_.chunk_nodes);
  std::vector<OriginalNodeId> originals;
  for (uint64_t id = first; id < end; ++id) originals.emplace_back(id);
  return graph_.seeds.ToGlobalIds(type, originals, deadline);
}

Result<torch::Tensor> FullInference::ComputeOutputs(Model& model, int layer, NodeTypeId type,
                                                    std::span<const GlobalNodeId> nodes, Deadline deadline) {
  const sampler::BatchRequest request{.seed_type = type, .seeds = nodes};
  ASSIGN_OR_RETURN(const sampler::MiniBatch batch, samplers_[static_cast<size_t>(layer)].Sample(request, deadline));
  TypedRows inputs(batch.nodes.size());
  for (uint16_t input = 0; input < inputs.size(); ++input) {
    if (layer > 0 && batch.nodes[input].empty()) continue;
    RETURN_IF_ERROR(options_.BeforeChunk());
    ASSIGN_OR_RETURN(inputs[input], ReadInputs(layer, NodeTypeId(input), batch.nodes[input], deadline));
  }
  RETURN_IF_ERROR(options_.BeforeChunk());
  ASSIGN_OR_RETURN(const GraphDegrees degrees, data_->Degrees(batch.nodes, batch.layers[0].num_outputs, deadline));
  RETURN_IF_ERROR(options_.BeforeChunk());
  try {
    const torch::NoGradGuard no_gradients;
    const TypedRows outputs =
        model.Layer(layer, batch.layers[0], ToDevice(std::move(inputs), model.device()), {.degrees = &degrees});
    return outputs[type.value].contiguous().cpu();
  } catch (const ModelError& error) {
    return error.status();
  } catch (const std::exception& error) {  // for example c10::Error if memory is exhausted
    return FromTorchError(error);
  }
}

Result<torch::Tensor> FullInference::ReadInputs(int layer, NodeTypeId type, std::span<const GlobalNodeId> nodes,
                                                Deadline deadline) {
  if (layer == 0) return data_->Inputs(type, nodes, deadline);
  Result<torch::Tensor> rows = data_->Column(type, hidden_.at(type), nodes, deadline);
  if (!rows.ok()) return NotFoundToDataLoss(std::move(rows).status());
  return rows;
}

Status FullInference::ForSplit(Model& model, const std::string& split, graph::SplitPartName part,
                               const OnChunk& on_chunk) {
  const NodeTypeId type = data_->seed_type();
  const auto compute = [&]() -> Status {
    ASSIGN_OR_RETURN(const uint64_t count, graph_.seeds.Count(type, split, part));
    for (uint64_t chunk = 0; chunk < NumChunks(count); CountChunk(chunk++, count)) {
      if (!IsMine(chunk)) continue;
      RETURN_IF_ERROR(options_.BeforeChunk());
      const Deadline deadline = options_.timeouts.ForData();
      const sampler::SeedQuery query{.node_type = type,
                                     .split = split,
                                     .part = part,
                                     .shuffle = false,
                                     .step = static_cast<uint32_t>(chunk),
                                     .batch_size = options_.chunk_nodes};
      ASSIGN_OR_RETURN(const sampler::GlobalBatch nodes, graph_.seeds.SeedsOfStep(query, deadline));
      ASSIGN_OR_RETURN(const torch::Tensor outputs,
                       ComputeOutputs(model, model.num_layers() - 1, type, nodes.seeds, deadline));
      RETURN_IF_ERROR(on_chunk(chunk, nodes.seeds, outputs));
    }
    return Status();
  };
  return Agree(compute());
}

Status FullInference::ForAllNodes(Model& model, NodeTypeId type, const OnChunk& on_chunk) {
  const auto compute = [&]() -> Status {
    const uint64_t num_nodes = graph_.neighbors.book().num_nodes(type);
    for (uint64_t chunk = 0; chunk < NumChunks(num_nodes); CountChunk(chunk++, num_nodes)) {
      if (!IsMine(chunk)) continue;
      RETURN_IF_ERROR(options_.BeforeChunk());
      const Deadline deadline = options_.timeouts.ForData();
      ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, ListChunkNodes(type, chunk, deadline));
      ASSIGN_OR_RETURN(const torch::Tensor outputs,
                       ComputeOutputs(model, model.num_layers() - 1, type, nodes, deadline));
      RETURN_IF_ERROR(on_chunk(chunk, nodes, outputs));
    }
    return Status();
  };
  return Agree(compute());
}

Status FullInference::DropHidden() { return Agree(DropHiddenUnsynchronized(options_.timeouts.data)); }

Status FullInference::DropHiddenUnsynchronized(std::chrono::seconds patience) {
  const Tensors stored = std::exchange(hidden_, {});
  const Tensors unfinished = std::exchange(unfinished_, {});
  const Status dropped = DropTensors(graph_, stored, *collective_, patience);
  const Status dropped_unfinished = DropTensors(graph_, unfinished, *collective_, patience);
  return dropped.ok() ? dropped_unfinished : dropped;
}

}  // namespace espalier::trainer
