#include "services/trainer/results/node_results.h"

#include <algorithm>
#include <functional>

#include "services/collective/agreement.h"
#include "services/format/node_results.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/results/decisions.h"

namespace espalier::trainer {
namespace {

using format::NodeResultsWriter;

// Of one read: enough for the network, little for rank 0's memory.
constexpr uint64_t kBytesPerRead = uint64_t{16} << 20;
constexpr uint64_t kMostRowsPerRead = uint64_t{1} << 16;

// The nodes of a type whose results are wanted: all in the order of their ids, or the chosen ones.
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

Tensor IdsOf(const std::vector<OriginalNodeId>& nodes) {
  std::vector<uint64_t> ids;
  ids.reserve(nodes.size());
  for (const OriginalNodeId node : nodes) ids.push_back(node.value);
  return Tensor::FromVector(std::move(ids));
}

// Calls body(ids U64 [n], rows F32 [n, width]) for one piece of a stored tensor after the other.
Status ForRows(const NodeResultsContext& context, NodeTypeId type, const std::string& tensor, int64_t width,
               const WantedNodes& wanted, const std::function<Status(const Tensor& ids, const Tensor& rows)>& body) {
  const uint64_t row_bytes = static_cast<uint64_t>(width) * sizeof(float);
  const uint64_t rows_per_read = std::clamp<uint64_t>(kBytesPerRead / row_bytes, 1, kMostRowsPerRead);
  for (uint64_t first = 0; first < wanted.count(); first += rows_per_read) {
    const Deadline deadline = context.timeouts.ForData();
    const auto originals = wanted.Slice(first, std::min(rows_per_read, wanted.count() - first));
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, context.graph.seeds.LookUp(type, originals, deadline));
    const Result<Tensor> rows = context.graph.rows.GatherRows(type, tensor, nodes, deadline);
    if (!rows.ok()) return LostWhereMissing(rows.status());
    if (rows->dtype() != DType::kF32 || rows->row_bytes() != row_bytes) {
      return Internal("tensor '" + tensor + "' came back as " + rows->ToString());
    }
    RETURN_IF_ERROR(body(IdsOf(originals), *rows));
  }
  return Status();
}

NodeResultsWriter WriterOf(const NodeResultsContext& context, const std::string& kind) {
  return NodeResultsWriter(*context.store, context.folder, kind, context.attributes);
}

Status Commit(NodeResultsWriter& writer, NodeResultFiles* written) {
  ASSIGN_OR_RETURN(const std::vector<format::OutputFile> files, writer.Commit());
  written->files.insert(written->files.end(), files.begin(), files.end());
  return Status();
}

Status WriteEmbeddings(const NodeResultsContext& context, Model& model, const FullInference& inference,
                       const NodeResultsRequest& request, NodeResultFiles* written) {
  if (inference.hidden().empty()) {
    written->not_written["embeddings"] = "a model of one layer has no hidden activations";
    return Status();
  }
  const int64_t width = model.OutputWidth(model.num_layers() - 2);
  NodeResultsWriter writer = WriterOf(context, "embeddings");
  bool any = false;
  for (const auto& [type, tensor] : inference.hidden()) {
    if (request.nodes.has_value() && !request.nodes->contains(type)) continue;
    const WantedNodes wanted(context, request, type);
    any = true;
    RETURN_IF_ERROR(
        writer.Begin({context.graph.schema().NodeTypeName(type), wanted.count(), DType::kU64, DType::kF32, {width}}));
    RETURN_IF_ERROR(ForRows(context, type, tensor, width, wanted,
                            [&](const Tensor& ids, const Tensor& rows) { return writer.Append(ids, rows); }));
  }
  if (any) return Commit(writer, written);
  written->not_written["embeddings"] = "none of the chosen nodes is of a type that the model's last layer reads";
  return Status();
}

// Decisions and the outputs behind them in one walk.
Status WritePredictions(const NodeResultsContext& context, const std::string& tensor, const WantedNodes& wanted,
                        NodeResultFiles* written) {
  const NodeTypeId type = context.data.seed_type();
  const LossKind kind = context.data.loss_kind();
  const int64_t width = context.data.num_outputs();
  const format::NodeResultShape shape = {
      context.graph.schema().NodeTypeName(type), wanted.count(), DType::kU64, DType::kF32, {width}};
  NodeResultsWriter predictions = WriterOf(context, "predictions");
  NodeResultsWriter logits = WriterOf(context, "logits");
  const bool has_logits = kind != LossKind::kSquaredError;
  const DecisionShape decisions = ShapeOfDecisions(kind, width);
  RETURN_IF_ERROR(
      predictions.Begin({shape.node_type, shape.rows, shape.id_dtype, decisions.dtype, decisions.row_shape}));
  if (has_logits) RETURN_IF_ERROR(logits.Begin(shape));
  const auto append = [&](const Tensor& ids, const Tensor& rows) -> Status {
    RETURN_IF_ERROR(predictions.Append(ids, FromTorch(DecisionsOf(kind, ToTorch(rows)))));
    return has_logits ? logits.Append(ids, rows) : Status();
  };
  RETURN_IF_ERROR(ForRows(context, type, tensor, width, wanted, append));
  RETURN_IF_ERROR(Commit(predictions, written));
  return has_logits ? Commit(logits, written) : Status();
}

// The outputs of all nodes of the seed types into tensors of one name on the owners of the rows, where rank 0 finds
// them.
Status StoreOutputs(const NodeResultsContext& context, Model& model, FullInference& inference,
                    const std::string& tensor) {
  for (const NodeTypeId type : context.data.seed_types()) {
    const Status created = LostWhereMissing(context.graph.tensors.CreateTensor(
        type, tensor, DType::kF32, {context.data.num_outputs()}, context.timeouts.ForData()));
    RETURN_IF_ERROR(collective::AgreeOn(created, context.collective, context.timeouts.ForCollective()));
    RETURN_IF_ERROR(inference.ForAllNodes(model, type, [&](uint64_t, auto nodes, const torch::Tensor& outputs) {
      return LostWhereMissing(
          context.graph.tensors.WriteRows(type, tensor, nodes, FromTorch(outputs), context.timeouts.ForData()));
    }));
  }
  return Status();
}

Status DropOutputs(const NodeResultsContext& context, const std::string& tensor) {
  Status first_error;
  for (const NodeTypeId type : context.data.seed_types()) {
    const Status dropped = context.graph.tensors.DropTensor(type, tensor, context.timeouts.ForData());
    if (first_error.ok()) first_error = dropped;
  }
  return first_error;
}

// Rank 0's part, after StoreOutputs.
Status FetchPredictions(const NodeResultsContext& context, const std::string& tensor, const NodeResultsRequest& request,
                        NodeResultFiles* written) {
  const NodeTypeId type = context.data.seed_type();
  if (request.nodes.has_value() && !request.nodes->contains(type)) {
    written->not_written["predictions"] = "no node of the task's type was chosen";
    return Status();
  }
  return WritePredictions(context, tensor, WantedNodes(context, request, type), written);
}

// Rank 0's part, after StoreOutputs, where outputs are the embeddings.
Status FetchEmbeddings(const NodeResultsContext& context, const std::string& tensor, const NodeResultsRequest& request,
                       NodeResultFiles* written) {
  const int64_t width = context.data.num_outputs();
  NodeResultsWriter writer = WriterOf(context, "embeddings");
  bool any = false;
  for (const NodeTypeId type : context.data.seed_types()) {
    if (request.nodes.has_value() && !request.nodes->contains(type)) continue;
    any = true;
    const WantedNodes wanted(context, request, type);
    RETURN_IF_ERROR(
        writer.Begin({context.graph.schema().NodeTypeName(type), wanted.count(), DType::kU64, DType::kF32, {width}}));
    RETURN_IF_ERROR(ForRows(context, type, tensor, width, wanted,
                            [&](const Tensor& ids, const Tensor& rows) { return writer.Append(ids, rows); }));
  }
  if (any) return Commit(writer, written);
  written->not_written["embeddings"] = "no node of the task's types was chosen";
  return Status();
}

bool Saves(const job::DistTraining& job, job::OutputKind kind) {
  return std::find(job.output_save.begin(), job.output_save.end(), kind) != job.output_save.end();
}

}  // namespace

NodeResultsRequest NodeResultsOf(const job::DistTraining& job) {
  NodeResultsRequest request;
  request.embeddings = Saves(job, job::OutputKind::kEmbeddings);
  request.predictions = Saves(job, job::OutputKind::kPredictions);
  if (job::IsOfEdges(job.training.task.type)) {
    request.embeddings_are_outputs = true;
    request.predictions = false;  // of nodes there are none
  }
  return request;
}

Result<NodeResultFiles> ExportNodeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                                          const NodeResultsRequest& request, const std::string& tensor_prefix) {
  const bool writes = context.collective.rank() == Rank(0);
  const std::string tensor = tensor_prefix + "-outputs";
  NodeResultFiles written;
  Status status;
  const bool hidden = request.embeddings && !request.embeddings_are_outputs;
  if (writes && hidden) status = WriteEmbeddings(context, model, inference, request, &written);
  RETURN_IF_ERROR(
      collective::AgreeOn(status, context.collective, context.timeouts.ForCollective()).While("writing embeddings"));
  const bool outputs_as_embeddings = request.embeddings && request.embeddings_are_outputs;
  if (!request.predictions && !outputs_as_embeddings) return written;
  const std::string what = outputs_as_embeddings ? "embeddings" : "predictions";
  RETURN_IF_ERROR(StoreOutputs(context, model, inference, tensor).While("computing " + what));
  if (writes) {
    status = outputs_as_embeddings ? FetchEmbeddings(context, tensor, request, &written)
                                   : FetchPredictions(context, tensor, request, &written);
    const Status dropped = DropOutputs(context, tensor);
    if (status.ok()) status = dropped;
  }
  RETURN_IF_ERROR(
      collective::AgreeOn(status, context.collective, context.timeouts.ForCollective()).While("writing " + what));
  return written;
}

}  // namespace espalier::trainer
