// Only rank 0 reads and writes: EdgeResultsExporter processes the parts of the split in order, one chunk of edges per
// step. The other ranks synchronize with rank 0 after each step (WorkInSteps), so that they never wait longer than one
// chunk takes. A chunk's outputs are computed from the stored embeddings of its endpoints. Predictions and logits are
// written from the same outputs and committed together at the end.
#include "services/trainer/results/edge_results.h"

#include <algorithm>
#include <optional>

#include "services/collective/agreement.h"
#include "services/format/results/edge_results.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/results/predictions.h"

namespace espalier::trainer {
namespace {

using format::EdgeResultsWriter;
using graph::SplitPartName;

constexpr SplitPartName kWrittenParts[] = {SplitPartName::kTrain, SplitPartName::kValidation, SplitPartName::kTest};

// Writes the results on rank 0. Each step writes one chunk of a part.
class EdgeResultsExporter {
 public:
  EdgeResultsExporter(const NodeResultsContext& context, const EdgeEvaluation& edges)
      : context_(context),
        edges_(edges),
        kind_(edges.target().loss),
        predictions_(MakeWriter("predictions")),
        logits_(MakeWriter("logits")) {}

  // Returns false when everything is written.
  Result<bool> Step() {
    if (part_ == std::size(kWrittenParts)) return Commit();
    const SplitPartName part = kWrittenParts[part_];
    ASSIGN_OR_RETURN(const uint64_t count, edges_.Count(part));
    if (chunk_ == 0) RETURN_IF_ERROR(Begin(part, count));
    if (chunk_ * edges_.chunk_edges() < count) {
      RETURN_IF_ERROR(WriteChunk(part));
      context_.phases.Add(std::min(count - chunk_ * edges_.chunk_edges(), edges_.chunk_edges()));
      ++chunk_;
    }
    if (chunk_ * edges_.chunk_edges() >= count) {
      ++part_;
      chunk_ = 0;
    }
    return true;
  }

  // Returns the number of edges of all parts. A part whose number of edges cannot be read counts as empty.
  uint64_t CountRows() const {
    uint64_t rows = 0;
    for (const SplitPartName part : kWrittenParts) {
      const Result<uint64_t> count = edges_.Count(part);
      if (count.ok()) rows += *count;
    }
    return rows;
  }

  NodeResultFiles TakeFiles() { return std::move(written_); }

 private:
  EdgeResultsWriter MakeWriter(const std::string& kind) const {
    const EdgeTarget& target = edges_.target();
    return EdgeResultsWriter(*context_.store, context_.folder, kind,
                             context_.graph.schema().EdgeType(target.edge_type).Name(), target.split,
                             context_.attributes);
  }
  bool has_logits() const { return kind_ != LossKind::kSquaredError; }

  Status Begin(SplitPartName part, uint64_t count) {
    const PredictionShape shape = GetPredictionShape(kind_, edges_.target().num_outputs);
    RETURN_IF_ERROR(predictions_.Begin({graph::ToString(part), count, shape.dtype, shape.row_shape}));
    if (!has_logits()) return Status();
    return logits_.Begin({graph::ToString(part), count, DType::kF32, {edges_.target().num_outputs}});
  }

  Status WriteChunk(SplitPartName part) {
    ASSIGN_OR_RETURN(const EdgeOutputs edges, edges_.ComputeChunkOutputs(part, chunk_));
    const graph::GraphSchema& schema = context_.graph.schema();
    const EdgeTypeId type = edges_.target().edge_type;
    ASSIGN_OR_RETURN(const Tensor sources, ReadOriginalIds(schema.SourceOf(type), edges.sources));
    ASSIGN_OR_RETURN(const Tensor destinations, ReadOriginalIds(schema.DestinationOf(type), edges.destinations));
    RETURN_IF_ERROR(predictions_.Append(sources, destinations, FromTorch(ToPredictions(kind_, edges.outputs))));
    return has_logits() ? logits_.Append(sources, destinations, FromTorch(edges.outputs)) : Status();
  }

  // Returns the original ids, U64 [nodes].
  Result<Tensor> ReadOriginalIds(NodeTypeId type, std::span<const GlobalNodeId> nodes) const {
    return context_.graph.rows.GatherRows(type, sampler::kOriginalIdColumn, nodes, context_.timeouts.ForData());
  }

  Result<bool> Commit() {
    ASSIGN_OR_RETURN(written_.files, predictions_.Commit());
    if (!has_logits()) return false;
    ASSIGN_OR_RETURN(const std::vector<format::OutputFile> files, logits_.Commit());
    written_.files.insert(written_.files.end(), files.begin(), files.end());
    return false;
  }

  const NodeResultsContext& context_;
  const EdgeEvaluation& edges_;
  const LossKind kind_;
  EdgeResultsWriter predictions_, logits_;
  size_t part_ = 0;     // index in kWrittenParts
  uint64_t chunk_ = 0;  // index of the next chunk of the part
  NodeResultFiles written_;
};

}  // namespace

Result<NodeResultFiles> ExportEdgeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                                          EdgeEvaluation& edges, const std::string& tensor) {
  // The split is missing on all ranks or on none, so no status exchange is needed.
  if (const Status split = edges.Count(SplitPartName::kTrain).status(); split.code() == StatusCode::kNotFound) {
    return NodeResultFiles{{}, {{"predictions", split.message()}}};
  }
  context.phases.Begin(RunPhase::kEmbedding, CountSeedTypeNodes(context));
  RETURN_IF_ERROR(edges.StoreEmbeddings(model, inference, tensor));
  std::optional<EdgeResultsExporter> exporter;  // on rank 0
  if (context.collective.rank() == Rank(0)) exporter.emplace(context, edges);
  context.phases.Begin(RunPhase::kWriting, exporter.has_value() ? exporter->CountRows() : 0);
  RETURN_IF_ERROR(collective::WorkInSteps(
                      Rank(0), [&] { return exporter->Step(); }, context.collective, context.timeouts.collective)
                      .While("writing predictions"));
  return exporter.has_value() ? exporter->TakeFiles() : NodeResultFiles();
}

}  // namespace espalier::trainer
