// A layer with self-loops has one part, which computes all destinations. Other layers have a part for each relation:
// Forward starts the sum with a linear map of the destinations' own rows. The part of a relation computes only the
// destinations that have in-edges of the relation (FindOccupiedRows), and AddToRows adds its result to the rows of
// these destinations in the sum.
#include "services/trainer/model/relation_convolution.h"

#include "services/base/check.h"
#include "services/base/random_purpose.h"
#include "services/trainer/model/initialization.h"
#include "services/trainer/model/relation_rows.h"
#include "services/trainer/ops/segment_ops.h"

namespace espalier::trainer {
namespace {

// Returns the first `num_rows` degrees of the relation; empty for a mini-batch without nodes.
std::span<const float> SelectDegrees(const std::vector<std::vector<float>>& by_relation, EdgeTypeId relation,
                                     int64_t num_rows) {
  if (num_rows == 0) return {};
  ESPALIER_CHECK(relation.value < by_relation.size() &&
                 static_cast<int64_t>(by_relation[relation.value].size()) >= num_rows)
      << "too few degrees for " << num_rows << " rows of relation " << relation.value;
  return std::span(by_relation[relation.value]).first(static_cast<size_t>(num_rows));
}

// Returns rows[k] - first_row as i64 [rows.size()] on the device.
torch::Tensor SubtractFirstRow(const std::vector<uint32_t>& rows, int64_t first_row, torch::Device device) {
  torch::Tensor numbers = torch::empty({static_cast<int64_t>(rows.size())}, torch::kInt64);
  auto* out = numbers.data_ptr<int64_t>();
  for (size_t k = 0; k < rows.size(); ++k) out[k] = int64_t{rows[k]} - first_row;
  return numbers.to(device);
}

}  // namespace

PerRelationConvolution::PerRelationConvolution(std::vector<EdgeTypeId> relations, int layer, int64_t inputs,
                                               int64_t outputs, graph::GraphSchema schema, uint64_t seed,
                                               const std::string& name, const MakePart& make)
    : relations_(std::move(relations)), layer_(layer), schema_(std::move(schema)) {
  if (HasSelfLoops(schema_, relations_)) {
    parts_.push_back(register_module("neighborhood", make(name)));
    return;
  }
  self_ = register_module("self", Linear(inputs, outputs, Bias::kNone, kReluGain, seed, name + ".self"));
  for (const EdgeTypeId relation : relations_) {
    const std::string key = RelationModuleName(schema_, relation);
    parts_.push_back(register_module(key, make(name + "." + key)));
  }
}

torch::Tensor PerRelationConvolution::Forward(const sampler::BatchLayer& edges, const TypedRows& inputs,
                                              const WrittenRows& written, const LayerRun& run) {
  ESPALIER_CHECK(edges.blocks.size() == relations_.size()) << "expected a block for each sampled relation";
  if (!self_) return ConvolveWithSelfLoops(edges.blocks.front(), inputs.front(), run);
  torch::Tensor sum = self_->forward(SelfRows(inputs, written));
  for (size_t r = 0; r < relations_.size(); ++r) {
    const int64_t first_row = written.first[schema_.DestinationOf(relations_[r]).value];
    // If first_row is negative, no trainer writes rows of the destination type, and the relation is skipped.
    if (first_row >= 0) sum = AddRelation(r, edges.blocks[r], inputs, first_row, sum, run);
  }
  return sum;
}

torch::Tensor PerRelationConvolution::ConvolveWithSelfLoops(const sampler::Block& block, const torch::Tensor& x,
                                                            const LayerRun& run) {
  RelationRows rows{.segments = ToSegments(block), .source = x, .with_self_loops = true};
  rows.destination = x.narrow(0, 0, rows.segments.num_rows());
  rows.dropout = MakeDropout(0, run);
  if (parts_[0]->needs_degrees()) {
    ESPALIER_CHECK(run.degrees != nullptr) << "the model needs the nodes' degrees";
    rows.out_degrees = SelectDegrees(run.degrees->out, relations_[0], x.size(0));
    rows.in_degrees = SelectDegrees(run.degrees->in, relations_[0], rows.segments.num_rows());
  }
  return parts_[0]->Forward(rows);
}

torch::Tensor PerRelationConvolution::AddRelation(size_t r, const sampler::Block& block, const TypedRows& inputs,
                                                  int64_t first_row, torch::Tensor sum, const LayerRun& run) {
  const NodeTypeId destination = schema_.DestinationOf(relations_[r]);
  const OccupiedRows occupied = FindOccupiedRows(block, first_row);
  const torch::Tensor numbers = SubtractFirstRow(occupied.rows, first_row, sum.device());
  RelationRows rows{.segments = {occupied.indptr, block.indices}};
  rows.source = inputs[schema_.SourceOf(relations_[r]).value];
  rows.destination = inputs[destination.value].index_select(0, numbers);
  rows.dropout = MakeDropout(r, run);
  if (rows.dropout.destination_ids.defined()) {
    rows.dropout.destination_ids = rows.dropout.destination_ids.index_select(0, numbers);
  }
  std::vector<float> in_degrees;
  if (parts_[r]->needs_degrees()) {
    ESPALIER_CHECK(run.degrees != nullptr) << "the model needs the nodes' degrees";
    rows.out_degrees = SelectDegrees(run.degrees->out, relations_[r], rows.source.size(0));
    const auto all_in_degrees =
        SelectDegrees(run.degrees->in, relations_[r], static_cast<int64_t>(block.indptr.size()) - 1);
    for (const uint32_t row : occupied.rows) in_degrees.push_back(all_in_degrees[row - static_cast<size_t>(first_row)]);
    rows.in_degrees = in_degrees;
  }
  return AddToRows(sum, parts_[r]->Forward(rows), occupied.rows);
}

EdgeDropout PerRelationConvolution::MakeDropout(size_t r, const LayerRun& run) const {
  EdgeDropout dropout;
  dropout.probability = run.training ? parts_[r]->edge_dropout() : 0;
  if (dropout.probability == 0) return dropout;
  ESPALIER_CHECK(run.original_ids != nullptr) << "dropout is keyed by original ids";
  dropout.key = RandomKey(run.seed, RandomPurpose::kAttentionDropout, run.epoch, run.step, layer_, relations_[r].value);
  dropout.source_ids = (*run.original_ids)[schema_.SourceOf(relations_[r]).value];
  dropout.destination_ids = (*run.original_ids)[schema_.DestinationOf(relations_[r]).value];
  return dropout;
}

}  // namespace espalier::trainer
