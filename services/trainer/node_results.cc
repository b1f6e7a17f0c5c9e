#include "services/trainer/node_results.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "services/collective/agreement.h"
#include "services/format/node_results.h"
#include "services/storage/file_store.h"
#include "services/trainer/parameters.h"

namespace espalier::trainer {
namespace {

constexpr uint64_t kRowsPerRead = uint64_t{1} << 16;

std::vector<uint64_t> Range(uint64_t first, uint64_t count) {
  std::vector<uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// F32 [nodes, width]: a stored tensor in original-id order.
Result<Tensor> RowsInOrder(const NodeResultsContext& context, NodeTypeId type, const std::string& tensor,
                           int64_t width) {
  const uint64_t num_nodes = context.graph.neighbors.book().num_nodes(type);
  Tensor all = Tensor::Zeros(DType::kF32, {static_cast<int64_t>(num_nodes), width});
  for (uint64_t first = 0; first < num_nodes; first += kRowsPerRead) {
    const Deadline deadline = context.timeouts.ForData();
    std::vector<OriginalNodeId> originals;
    for (const uint64_t id : Range(first, std::min(kRowsPerRead, num_nodes - first))) originals.emplace_back(id);
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes, context.graph.seeds.LookUp(type, originals, deadline));
    ASSIGN_OR_RETURN(const Tensor rows, context.graph.rows.GatherRows(type, tensor, nodes, deadline));
    if (rows.dtype() != all.dtype() || rows.row_bytes() != all.row_bytes()) {
      return Internal("tensor '" + tensor + "' came back as " + rows.ToString());
    }
    std::memcpy(all.mutable_bytes() + first * all.row_bytes(), rows.bytes(), rows.size_bytes());
  }
  return all;
}

format::NodeResult ResultOf(const NodeResultsContext& context, NodeTypeId type, Tensor values) {
  return {context.graph.schema().NodeTypeName(type),
          Tensor::FromVector(Range(0, context.graph.neighbors.book().num_nodes(type))), std::move(values)};
}

Status WriteEmbeddings(const NodeResultsContext& context, Model& model, const FullInference& inference,
                       const std::string& output_dir) {
  std::vector<format::NodeResult> results;
  for (const auto& [type, tensor] : inference.hidden()) {
    ASSIGN_OR_RETURN(Tensor rows, RowsInOrder(context, type, tensor, model.OutputWidth(model.num_layers() - 2)));
    results.push_back(ResultOf(context, type, std::move(rows)));
  }
  storage::FileStore store(output_dir);
  return format::WriteNodeResults(store, "", "embeddings", context.attributes, results);
}

// What outputs decide: a class, a yes or no per class, or a value.
torch::Tensor DecisionsOf(LossKind kind, const torch::Tensor& outputs) {
  switch (kind) {
    case LossKind::kCrossEntropy: return outputs.argmax(1);
    case LossKind::kBinaryCrossEntropy: return outputs.gt(0).to(torch::kUInt8);
    case LossKind::kSquaredError: return outputs;
  }
  return outputs;
}

Status WritePredictions(const NodeResultsContext& context, const std::string& tensor, const std::string& output_dir) {
  const NodeTypeId type = context.data.seed_type();
  const LossKind kind = context.data.loss_kind();
  ASSIGN_OR_RETURN(const Tensor outputs, RowsInOrder(context, type, tensor, context.data.num_outputs()));
  storage::FileStore store(output_dir);
  const format::NodeResult decisions = ResultOf(context, type, FromTorch(DecisionsOf(kind, ToTorch(outputs))));
  RETURN_IF_ERROR(format::WriteNodeResults(store, "", "predictions", context.attributes, {decisions}));
  if (kind == LossKind::kSquaredError) return Status();
  return format::WriteNodeResults(store, "", "logits", context.attributes, {ResultOf(context, type, outputs)});
}

// All nodes' outputs into a tensor on the owners of the rows, where rank 0 finds them.
Status StoreOutputs(const NodeResultsContext& context, Model& model, FullInference& inference,
                    const std::string& tensor) {
  const NodeTypeId type = context.data.seed_type();
  const Status created = context.graph.tensors.CreateTensor(type, tensor, DType::kF32, {context.data.num_outputs()},
                                                            context.timeouts.ForData());
  RETURN_IF_ERROR(collective::AgreeOn(created, context.collective, context.timeouts.ForCollective()));
  return inference.ForAllNodes(model, [&](uint64_t, auto nodes, const torch::Tensor& outputs) {
    return context.graph.tensors.WriteRows(type, tensor, nodes, FromTorch(outputs), context.timeouts.ForData());
  });
}

bool Saves(const job::DistTraining& job, job::OutputKind kind) {
  return std::find(job.output_save.begin(), job.output_save.end(), kind) != job.output_save.end();
}

}  // namespace

NodeResultsRequest NodeResultsOf(const job::DistTraining& job) {
  return {Saves(job, job::OutputKind::kEmbeddings), Saves(job, job::OutputKind::kPredictions)};
}

Status ExportNodeResults(const NodeResultsContext& context, Model& model, FullInference& inference,
                         const NodeResultsRequest& request, const std::string& output_dir,
                         const std::string& tensor_prefix) {
  const bool writes = context.collective.rank() == Rank(0);
  const std::string tensor = tensor_prefix + "-outputs";
  Status status;
  if (writes && request.embeddings) status = WriteEmbeddings(context, model, inference, output_dir);
  RETURN_IF_ERROR(
      collective::AgreeOn(status, context.collective, context.timeouts.ForCollective()).While("writing embeddings"));
  if (!request.predictions) return Status();
  RETURN_IF_ERROR(StoreOutputs(context, model, inference, tensor).While("computing predictions"));
  if (writes) {
    status = WritePredictions(context, tensor, output_dir);
    const Status dropped =
        context.graph.tensors.DropTensor(context.data.seed_type(), tensor, context.timeouts.ForData());
    if (status.ok()) status = dropped;
  }
  return collective::AgreeOn(status, context.collective, context.timeouts.ForCollective()).While("writing predictions");
}

}  // namespace espalier::trainer
