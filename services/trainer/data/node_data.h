// The per-node data that a job reads, as torch tensors: input features, labels and original ids. Make finds the columns
// that the document names; each read then gathers rows of these columns.
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

// Thread-safe, except for the functions that say otherwise.
class NodeData {
 public:
  // Finds the input and label columns of a task on nodes. `rows` outlives this. InvalidArgument or NotFound names a
  // column that the graph lacks or that does not fit. A job that only applies a model (OnlyInfers) needs no label
  // column.
  static Result<NodeData> Make(const job::Training& training, const graph::GraphSchema& schema,
                               sampler::RowSource& rows);
  // Finds only the input columns, for a task on edges: the caller must call SetEdgeTask next. Errors are those of Make.
  static Result<NodeData> MakeInputs(const job::Training& training, const graph::GraphSchema& schema,
                                     sampler::RowSource& rows);
  // Declares a task on edges of `types` (at least one): the seeds are the endpoints of these edges, and the outputs are
  // embeddings of `width` values. Not thread-safe: call it before the object is shared.
  void SetEdgeTask(std::span<const EdgeTypeId> types, const graph::GraphSchema& schema, int64_t width);

  // Returns the node type of the seed nodes; for tasks on edges, the destination type of the first edge type.
  NodeTypeId seed_type() const { return seed_type_; }
  // Returns the node types whose outputs are needed, ascending: the seed type, or for tasks on edges the source and
  // destination types of all edge types of the task.
  const std::vector<NodeTypeId>& seed_types() const { return seed_types_; }
  LossKind loss_kind() const { return loss_kind_; }
  // Returns the width of the features by NodeTypeId; 0: the type has no features.
  const std::vector<int64_t>& feature_widths() const { return feature_widths_; }
  // Returns the width of the model's input by NodeTypeId: features and learnable rows.
  const std::vector<int64_t>& input_widths() const { return input_widths_; }
  // Returns the number of values per label; 1 for classes.
  int64_t label_width() const { return label_width_; }
  // Returns false for tasks on edges, and for a job that only applies a model to a graph without the label column.
  bool has_labels() const { return has_labels_; }
  // Returns the width of the model's outputs: the number of classes, the number of values per label, or for tasks on
  // edges the width of an embedding.
  int64_t num_outputs() const { return num_outputs_; }

  // Reads every label of the split once and sets num_outputs(): for single-label classification, the largest label in
  // any part of the split plus one, otherwise the number of values per label. Returns the counts of the labels. Without
  // has_labels(), does nothing and returns empty counts. Every rank must call it and reads its share. Not thread-safe:
  // call it once, before the object is shared. InvalidArgument if there are training nodes, but none has a label; in
  // single-label classification, also if no node of the split has a label, or if a label is not a valid class.
  Result<LabelCensus> CountOutputs(const std::string& split, sampler::SeedSource& seeds,
                                   collective::Collective& collective, std::chrono::seconds timeout);

  // Sets num_outputs() to the number of outputs of an existing model; called after CountOutputs or instead of it.
  // InvalidArgument if labels have another width, or if CountOutputs found classes that the model lacks. Not
  // thread-safe, like CountOutputs.
  Status SetOutputs(int64_t num_outputs);

  // Sets the source of Degrees, for models that need degrees (Model::needs_degrees). Not thread-safe, like
  // CountOutputs.
  void SetDegreeSource(DegreeSource degrees) { degrees_ = std::move(degrees); }
  // Returns the degrees of a mini-batch's nodes, for its first layer. `nodes` and `num_written` are by NodeTypeId; the
  // destination nodes of the layer are the first num_written[type] nodes of each type. Returns an empty object if
  // SetDegreeSource was not called.
  Result<GraphDegrees> Degrees(const std::vector<std::vector<GlobalNodeId>>& nodes,
                               std::span<const uint32_t> num_written, Deadline deadline) const;

  // Returns the columns that every mini-batch reads for all its nodes: features and original ids.
  std::vector<sampler::ColumnDescription> BatchColumns() const;
  // Returns a copy that reads the same columns from another source. `rows` outlives the copy.
  NodeData WithRowSource(sampler::RowSource& rows) const;

  // Returns the feature columns of a type, concatenated: f32 [nodes, feature_widths()[type]]; the width may be 0.
  Result<torch::Tensor> Features(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Sets the learnable rows that Inputs and WithLearnable read. `rows` outlives this. Not thread-safe, like
  // CountOutputs.
  void SetLearnableRows(const LearnableRows& rows) { learnable_ = &rows; }
  // Returns the features and the learnable rows at their current version, f32 [nodes, input width]. Not thread-safe if
  // the job has learnable rows.
  Result<torch::Tensor> Inputs(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Like Inputs, with features that the caller has read already. Not thread-safe if the job has learnable rows.
  Result<torch::Tensor> WithLearnable(NodeTypeId type, const torch::Tensor& features,
                                      std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Returns labels of nodes of the seed type as losses.h expects them: i64 [nodes] or f32 [nodes, C].
  Result<torch::Tensor> Labels(std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Returns the original ids of nodes, i64 [nodes].
  Result<torch::Tensor> OriginalIds(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Returns rows of a column, converted to f32 [nodes, ...].
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
  // Adds the labels of this rank's share of a part to the census: every num_ranks-th chunk of part.batch_size nodes.
  Status AddLabels(const sampler::SeedQuery& part, sampler::SeedSource& seeds, Rank rank, uint32_t num_ranks,
                   std::chrono::seconds timeout, LabelCensus* census) const;

  sampler::RowSource* rows_;
  std::optional<DegreeSource> degrees_;
  std::vector<std::vector<InputColumn>> inputs_;  // by NodeTypeId
  std::vector<int64_t> feature_widths_, input_widths_;
  const LearnableRows* learnable_ = nullptr;  // null: none
  NodeTypeId seed_type_;
  std::vector<NodeTypeId> seed_types_;
  std::string label_;
  bool has_labels_ = true;
  LossKind loss_kind_ = LossKind::kCrossEntropy;
  int64_t label_width_ = 1;
  int64_t num_outputs_ = 0;
};

// Returns true if the job does not train but applies an existing model to a graph.
inline bool OnlyInfers(const job::Training& training) { return training.epochs == 0 && !training.model.uri.empty(); }

// Converts a tensor of any dtype to f32 with the same shape. If the tensor is F32, the result shares its memory.
Result<torch::Tensor> ToFloats(const Tensor& tensor);
// Converts a tensor to classes, i64 [elements]. NaN becomes -1, which means "no label". InvalidArgument if a floating
// value is not a whole number or its magnitude exceeds 1e9.
Result<torch::Tensor> ToClasses(const Tensor& tensor);
// Converts a tensor with one row of `width` values per seed to labels as CheckLabels expects them. NaN means "no
// label". In single-label and multi-label classification, -1 also means "no label".
Result<torch::Tensor> ToLabels(LossKind kind, const Tensor& tensor, int64_t width);

// Returns the node type with a name from the document; "" means the only type of a graph with one node type. Errors
// name `field`.
Result<NodeTypeId> FindNodeType(const std::string& name, const graph::GraphSchema& schema, const char* field);

}  // namespace espalier::trainer
