// The rows to write are in distributed tensors: ComputeHidden has stored the hidden activations, and StoredEmbeddings
// stores the outputs, which all ranks compute. NodeResultsExporter then reads the selected rows on rank 0, in the order
// of the original ids or of the user's selection, at most bytes_per_read at a time, and passes them to a RowsSink,
// which writes the files. The other ranks synchronize with rank 0 after each read (WorkInSteps).
#include "services/trainer/results/node_results.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "services/collective/agreement.h"
#include "services/format/results/node_results.h"
#include "services/trainer/evaluation/stored_embeddings.h"
#include "services/trainer/evaluation/stored_tensors.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/results/predictions.h"

namespace espalier::trainer {
namespace {

using format::NodeResultsWriter;

constexpr uint64_t kMaxRowsPerRead = uint64_t{1} << 16;
// Timeout for dropping the tensors after an error, when a server may have ended.
constexpr std::chrono::seconds kTimeoutAfterError{10};

// The selected nodes of a type: those of the request, or all nodes in the order of their ids.
class WantedNodes {
 public:
  WantedNodes(const NodeResultsContext& context, const NodeResultsRequest& request, NodeTypeId type)
      : num_nodes_(context.graph.neighbors.book().num_nodes(type)) {
    if (!request.nodes.has_value()) return;
    static const std::vector<OriginalNodeId> none;
    const auto found = request.nodes->find(type);
    chosen_ = found == request.nodes->end() ? &none : &found->second;
  }

  uint64_t count() const { return chosen_ == nullptr ? num_nodes_ : chosen_->size(); }
  std::vector<OriginalNodeId> Slice(uint64_t first, uint64_t count) const {
    std::vector<OriginalNodeId> nodes;
    nodes.reserve(count);
    for (uint64_t i = first; i < first + count; ++i) {
      nodes.push_back(chosen_ == nullptr ? OriginalNodeId(i) : (*chosen_)[i]);
    }
    return nodes;
  }

 private:
  const uint64_t num_nodes_;
  const std::vector<OriginalNodeId>* chosen_ = nullptr;  // outlives this
};

Tensor ToIds(const std::vector<OriginalNodeId>& nodes) {
  std::vector<uint64_t> ids;
  ids.reserve(nodes.size());
  for (const OriginalNodeId node : nodes) ids.push_back(node.value);
  return Tensor::FromVector(std::move(ids));
}

NodeResultsWriter MakeWriter(const NodeResultsContext& context, const std::string& kind) {
  return NodeResultsWriter(*context.store, context.folder, kind, context.attributes);
}

Status CommitTo(NodeResultFiles* written, NodeResultsWriter& writer) {
  ASSIGN_OR_RETURN(const std::vector<format::OutputFile> files, writer.Commit());
  written->files.insert(written->files.end(), files.begin(), files.end());
  return Status();
}

// Writes to files the rows that NodeResultsExporter reads.
class RowsSink {
 public:
  virtual ~RowsSink() = default;
  // Begins a node type with `num_rows` rows.
  virtual Status Begin(NodeTypeId type, uint64_t num_rows) = 0;
  // Appends rows F32 [n, width] of nodes with ids U64 [n].
  virtual Status Append(const Tensor& ids, const Tensor& rows) = 0;
  virtual Status Commit(NodeResultFiles* written) = 0;
};

class EmbeddingsSink final : public RowsSink {
 public:
  EmbeddingsSink(const NodeResultsContext& context, int64_t width)
      : schema_(context.graph.schema()), width_(width), writer_(MakeWriter(context, "embeddings")) {}

  Status Begin(NodeTypeId type, uint64_t num_rows) override {
    return writer_.Begin({schema_.NodeTypeName(type), num_rows, DType::kU64, DType::kF32, {width_}});
  }
  Status Append(const Tensor& ids, const Tensor& rows) override { return writer_.Append(ids, rows); }
  Status Commit(NodeResultFiles* written) override { return CommitTo(written, writer_); }

 private:
  const graph::GraphSchema& schema_;
  const int64_t width_;
  NodeResultsWriter writer_;
};

// Writes predictions, and for classification the outputs, in one pass.
class PredictionsSink final : public RowsSink {
 public:
  explicit PredictionsSink(const NodeResultsContext& context)
      : schema_(context.graph.schema()),
        kind_(context.data.loss_kind()),
        width_(context.data.num_outputs()),
        predictions_(MakeWriter(context, "predictions")),
        logits_(MakeWriter(context, "logits")) {}

  Status Begin(NodeTypeId type, uint64_t num_rows) override {
    const std::string& name = schema_.NodeTypeName(type);
    const PredictionShape shape = GetPredictionShape(kind_, width_);
    RETURN_IF_ERROR(predictions_.Begin({name, num_rows, DType::kU64, shape.dtype, shape.row_shape}));
    return has_logits() ? logits_.Begin({name, num_rows, DType::kU64, DType::kF32, {width_}}) : Status();
  }
  Status Append(const Tensor& ids, const Tensor& rows) override {
    RETURN_IF_ERROR(predictions_.Append(ids, FromTorch(ToPredictions(kind_, ToTorch(rows)))));
    return has_logits() ? logits_.Append(ids, rows) : Status();
  }
  Status Commit(NodeResultFiles* written) override {
    RETURN_IF_ERROR(CommitTo(written, predictions_));
    return has_logits() ? CommitTo(written, logits_) : Status();
  }

 private:
  bool has_logits() const { return kind_ != LossKind::kSquaredError; }

  const graph::GraphSchema& schema_;
  const LossKind kind_;
  const int64_t width_;
  NodeResultsWriter predictions_, logits_;
};

// Node type -> name of the tensor that holds its rows.
using StoredRows = std::map<NodeTypeId, std::string>;

// Reads the selected rows of stored tensors on rank 0 and passes them to a sink, at most one read per call of Step.
class NodeResultsExporter {
 public:
  NodeResultsExporter(const NodeResultsContext& context, const NodeResultsRequest& request, int64_t width,
                      StoredRows stored, std::unique_ptr<RowsSink> sink, NodeResultFiles* written)
      : context_(context),
        request_(request),
        row_bytes_(static_cast<uint64_t>(width) * sizeof(float)),
        rows_per_read_(std::clamp<uint64_t>(context.bytes_per_read / row_bytes_, 1, kMaxRowsPerRead)),
        stored_(std::move(stored)),
        sink_(std::move(sink)),
        written_(written) {}

  // Returns the number of rows to write. Must be called before the first call of Step.
  uint64_t CountRows() const {
    uint64_t rows = 0;
    for (const auto& [type, tensor] : stored_) rows += WantedNodes(context_, request_, type).count();
    return rows;
  }

  // Begins a node type, writes one chunk, or commits the files. Returns false after the commit.
  Result<bool> Step() {
    if (stored_.empty()) {
      RETURN_IF_ERROR(sink_->Commit(written_));
      return false;
    }
    const auto& [type, tensor] = *stored_.begin();
    if (!wanted_.has_value()) {
      wanted_.emplace(context_, request_, type);
      next_row_ = 0;
      RETURN_IF_ERROR(sink_->Begin(type, wanted_->count()));
    } else {
      RETURN_IF_ERROR(WriteChunk(type, tensor));
    }
    if (next_row_ >= wanted_->count()) {
      wanted_.reset();
      stored_.erase(stored_.begin());
    }
    return true;
  }

 private:
  Status WriteChunk(NodeTypeId type, const std::string& tensor) {
    const Deadline deadline = context_.timeouts.ForData();
    const auto originals = wanted_->Slice(next_row_, std::min(rows_per_read_, wanted_->count() - next_row_));
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes,
                     context_.graph.seeds.ToGlobalIds(type, originals, deadline));
    const Result<Tensor> rows = context_.graph.rows.GatherRows(type, tensor, nodes, deadline);
    if (!rows.ok()) return NotFoundToDataLoss(rows.status());
    if (rows->dtype() != DType::kF32 || rows->row_bytes() != row_bytes_) {
      return Internal("rows of tensor '" + tensor + "' are " + rows->ToString() + ", expected F32 rows of " +
                      std::to_string(row_bytes_) + " bytes");
    }
    next_row_ += originals.size();
    context_.phases.Add(originals.size());
    return sink_->Append(ToIds(originals), *rows);
  }

  const NodeResultsContext& context_;
  const NodeResultsRequest& request_;
  const uint64_t row_bytes_, rows_per_read_;
  StoredRows stored_;  // types that are not finished yet
  std::unique_ptr<RowsSink> sink_;
  NodeResultFiles* const written_;
  std::optional<WantedNodes> wanted_;  // the nodes of the first type in stored_; nullopt before the type is begun
  uint64_t next_row_ = 0;
};

// Runs `exporter` on rank 0, where null means that there is nothing to write. The other ranks, whose `exporter` is
// null, synchronize after each read.
Status WriteInSteps(const NodeResultsContext& context, std::unique_ptr<NodeResultsExporter> exporter,
                    const std::string& what) {
  context.phases.Begin(RunPhase::kWriting, exporter == nullptr ? 0 : exporter->CountRows());
  const auto step = [&]() -> Result<bool> { return exporter == nullptr ? Result<bool>(false) : exporter->Step(); };
  return collective::WorkInSteps(Rank(0), step, context.collective, context.timeouts.collective)
      .While("writing " + what);
}

// Returns the entries of `all` whose node types have selected nodes.
StoredRows SelectChosen(const NodeResultsRequest& request, const StoredRows& all) {
  StoredRows chosen;
  for (const auto& [type, tensor] : all) {
    if (!request.nodes.has_value() || request.nodes->contains(type)) chosen.emplace(type, tensor);
  }
  return chosen;
}

// Returns the exporter of the activations that enter the last layer. Returns null, with the reason in `written`, if
// there is nothing to write.
std::unique_ptr<NodeResultsExporter> MakeHiddenExporter(const NodeResultsContext& context, const Model& model,
                                                        const FullInference& inference,
                                                        const NodeResultsRequest& request, NodeResultFiles* written) {
  if (inference.hidden().empty()) {
    written->not_written["embeddings"] = "a model of one layer has no hidden activations";
    return nullptr;
  }
  StoredRows stored = SelectChosen(request, inference.hidden());
  if (stored.empty()) {
    written->not_written["embeddings"] =
        "the chosen nodes have no hidden activations: the model's last layer does not read their node types";
    return nullptr;
  }
  const int64_t width = model.OutputWidth(model.num_layers() - 2);
  return std::make_unique<NodeResultsExporter>(context, request, width, std::move(stored),
                                               std::make_unique<EmbeddingsSink>(context, width), written);
}

// Returns the exporter of the outputs in the tensors `all`: as embeddings if the task is on edges, otherwise as
// predictions. Returns null, with the reason in `written`, if there is nothing to write.
std::unique_ptr<NodeResultsExporter> MakeOutputsExporter(const NodeResultsContext& context, const StoredRows& all,
                                                         const NodeResultsRequest& request, NodeResultFiles* written) {
  const bool as_embeddings = request.embeddings_are_outputs;
  StoredRows stored = SelectChosen(request, all);
  if (stored.empty()) {
    written->not_written[as_embeddings ? "embeddings" : "predictions"] =
        as_embeddings ? "no node of the task's types was chosen" : "no node of the task's type was chosen";
    return nullptr;
  }
  const int64_t width = context.data.num_outputs();
  std::unique_ptr<RowsSink> sink;
  if (as_embeddings) {
    sink = std::make_unique<EmbeddingsSink>(context, width);
  } else {
    sink = std::make_unique<PredictionsSink>(context);
  }
  return std::make_unique<NodeResultsExporter>(context, request, width, std::move(stored), std::move(sink), written);
}

}  // namespace

uint64_t CountSeedTypeNodes(const NodeResultsContext& context) {
  uint64_t nodes = 0;
  for (const NodeTypeId type : context.data.seed_types()) nodes += context.graph.neighbors.book().num_nodes(type);
  return nodes;
}

NodeResultsRequest RequestNodeResults(const job::DistTraining& job) {
  NodeResultsRequest request;
  request.embeddings = job::Saves(job, job::OutputKind::kEmbeddings);
  request.predictions = job::Saves(job, job::OutputKind::kPredictions);
  return request;
}

NodeResultsRequest RequestOutputsAsEmbeddings(const job::DistTraining& job) {
  NodeResultsRequest request;
  request.embeddings = job::Saves(job, job::OutputKind::kEmbeddings);
  request.embeddings_are_outputs = true;
  return request;
}

Result<NodeResultFiles> ExportNodeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                                          const NodeResultsRequest& request, const std::string& tensor_prefix) {
  const bool writes = context.collective.rank() == Rank(0);
  NodeResultFiles written;
  if (request.embeddings && !request.embeddings_are_outputs) {
    auto exporter = writes ? MakeHiddenExporter(context, model, inference, request, &written) : nullptr;
    RETURN_IF_ERROR(WriteInSteps(context, std::move(exporter), "embeddings"));
  }
  const bool outputs_as_embeddings = request.embeddings && request.embeddings_are_outputs;
  if (!request.predictions && !outputs_as_embeddings) return written;
  const std::string what = outputs_as_embeddings ? "embeddings" : "predictions";
  context.phases.Begin(RunPhase::kEmbedding, CountSeedTypeNodes(context));
  StoredEmbeddings outputs(context.graph, context.data, context.collective, context.timeouts);
  Status status = outputs.Store(model, inference, tensor_prefix + "-outputs").While("computing " + what);
  if (status.ok()) {
    auto exporter = writes ? MakeOutputsExporter(context, outputs.tensors(), request, &written) : nullptr;
    status = WriteInSteps(context, std::move(exporter), what);
  }
  // The tensors are dropped even after an error: a repeated pass uses other names and would never drop these.
  const std::chrono::seconds timeout = status.ok() ? context.timeouts.data : kTimeoutAfterError;
  const Status dropped = outputs.DropInSteps(std::min(context.timeouts.data, timeout));
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(dropped.While("dropping " + what));
  return written;
}

}  // namespace espalier::trainer
