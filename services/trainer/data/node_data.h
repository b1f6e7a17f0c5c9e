// What a job reads per node, as torch tensors: input features, labels, original ids. Fixed once from the document
// and the graph's columns; every later read is a gather.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/trainer/data/label_census.h"
#include "services/trainer/model/graph_degrees.h"
#include "services/trainer/ops/losses.h"

namespace espalier::trainer {

class LearnableRows;

// Thread-safe.
class NodeData {
 public:
  // `rows` outlives this. InvalidArgument or NotFound names the input or label that the graph does not have. A job that
  // only applies a model (OnlyInfers) needs no label.
  static Result<NodeData> Make(const job::Training& training, const graph::GraphSchema& schema,
                               sampler::RowSource& rows);

  // Of tasks on edges, what the first of their edge types leads to.
  NodeTypeId seed_type() const { return seed_type_; }
  // Those whose outputs are wanted, ascending: the seed type; of tasks on edges the ends of all their edge types.
  const std::vector<NodeTypeId>& seed_types() const { return seed_types_; }
  LossKind loss_kind() const { return loss_kind_; }
  // Width of the features by NodeTypeId; 0: the type has none.
  const std::vector<int64_t>& feature_widths() const { return feature_widths_; }
  // The same with the learnable rows behind them: what a model reads.
  const std::vector<int64_t>& input_widths() const { return input_widths_; }
  // Elements of a label's row: 1 for classes.
  int64_t label_width() const { return label_width_; }
  // False for tasks on edges, and for a job without training whose graph lacks the label's column.
  bool has_labels() const { return has_labels_; }
  // Columns of the model's outputs: classes, a label's values, or an embedding's (tasks on edges).
  int64_t num_outputs() const { return num_outputs_; }

  // Reads every label of the split once, and sets the outputs: classes are 0 .. the largest label among the split's
  // nodes (all parts); other tasks have as many outputs as a label has values. Returns what the labels are; empty for
  // tasks on edges. Every rank calls it, each reads its share. Called once, by Make's caller, before others use this
  // object. InvalidArgument where no training node has a label, or a label is no class.
  Result<LabelCensus> CountOutputs(const std::string& split, sampler::SeedSource& seeds,
                                   collective::Collective& collective, std::chrono::seconds timeout);

  // Sets the outputs of a model that exists already, in place of CountOutputs or after it. InvalidArgument where labels
  // have another width, or classes beyond the outputs were counted.
  Status SetOutputs(int64_t num_outputs);

  // From now on Degrees asks this source; for models that need them (Model::needs_degrees). Called once, as
  // CountOutputs.
  void FetchDegrees(DegreeSource degrees) { degrees_ = std::move(degrees); }
  // Of a mini-batch's nodes, by NodeTypeId, of which the first layer writes the first num_written; nothing without a
  // source.
  Result<GraphDegrees> Degrees(const std::vector<std::vector<GlobalNodeId>>& nodes,
                               std::span<const uint32_t> num_written, Deadline deadline) const;

  // f32 [nodes, F]: the type's input columns side by side; F may be 0.
  Result<torch::Tensor> Features(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // From now on Inputs reads them. Outlives this; called once, as CountOutputs.
  void ReadLearnable(const LearnableRows& rows) { learnable_ = &rows; }
  // The features, and learnable rows as they are now: f32 [nodes, input width]. Not thread-safe where there are any.
  Result<torch::Tensor> Inputs(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // The same of features that are there already.
  Result<torch::Tensor> WithLearnable(NodeTypeId type, const torch::Tensor& features,
                                      std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // As losses.h wants them: i64 [nodes] or f32 [nodes, C].
  Result<torch::Tensor> Labels(std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // i64 [nodes]
  Result<torch::Tensor> OriginalIds(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // f32 [nodes, ...] of any floating or integer column.
  Result<torch::Tensor> Column(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes,
                               Deadline deadline) const;

 private:
  struct InputColumn {
    std::string name;
    int64_t width = 0;
  };

  explicit NodeData(sampler::RowSource& rows) : rows_(&rows) {}
  Status AddInput(const job::Input& input, const graph::GraphSchema& schema);
  Status SetLabel(const job::Training& training, const graph::GraphSchema& schema);
  Status SetEmbeddings(const job::Training& training, const graph::GraphSchema& schema);
  // Adds the labels of a part to the census, of those chunks that are this rank's.
  Status AddLabels(const sampler::SeedQuery& part, sampler::SeedSource& seeds, Rank rank, uint32_t num_ranks,
                   std::chrono::seconds timeout, LabelCensus* census) const;

  sampler::RowSource* rows_;
  std::optional<DegreeSource> degrees_;
  std::vector<std::vector<InputColumn>> inputs_;  // by NodeTypeId
  std::vector<int64_t> feature_widths_, input_widths_;
  const LearnableRows* learnable_ = nullptr;
  NodeTypeId seed_type_;
  std::vector<NodeTypeId> seed_types_;
  std::string label_;
  bool has_labels_ = true;
  LossKind loss_kind_ = LossKind::kCrossEntropy;
  int64_t label_width_ = 1;
  int64_t num_outputs_ = 0;
};

// No training: a model that exists is applied to a graph.
inline bool OnlyInfers(const job::Training& training) { return training.epochs == 0 && !training.model.uri.empty(); }

// f32 with the tensor's shape; shares memory where it is F32 already. InvalidArgument for a dtype that is no number.
Result<torch::Tensor> AsFloats(const Tensor& tensor);
// i64 [elements]. Floating values must be whole numbers, NaN becomes -1 (not labelled).
Result<torch::Tensor> AsClasses(const Tensor& tensor);
// Returns labels as CheckLabels expects them, from one row of `tensor` per seed. NaN means "no label"; for
// classification, single-label and multi-label, -1 does too.
Result<torch::Tensor> AsLabels(LossKind kind, const Tensor& tensor, int64_t width);

// The node type that a name in the document means: "" is the only type of a graph that has one.
Result<NodeTypeId> FindNodeType(const std::string& name, const graph::GraphSchema& schema, const char* field);

}  // namespace espalier::trainer
