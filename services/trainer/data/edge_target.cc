// Before training, the ranks read all labels once: rank r of T reads the chunks r, r + T, ... of each part and counts
// their labels in a LabelCensus, which is then merged over ranks. This validates every label and gives the number of
// outputs. One read is limited in the number of labels and in bytes. ReadLabeledEdgeChunk divides a chunk of an
// evaluation into reads of equal size: a seed query begins at edge number step * batch_size, so the size of a read must
// divide that of the chunk.
#include "services/trainer/data/edge_target.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "services/collective/agreement.h"
#include "services/job/label_limits.h"
#include "services/job/sampling/edge_plan.h"
#include "services/trainer/data/label_census.h"
#include "services/trainer/data/node_data.h"

namespace espalier::trainer {
namespace {

using graph::SplitPartName;

constexpr SplitPartName kEveryPart[] = {SplitPartName::kTrain, SplitPartName::kValidation, SplitPartName::kTest};
// Limits of one read of labels, so that a response stays far below the maximum size of a message.
constexpr uint64_t kMaxLabelsPerRead = uint64_t{1} << 16;
constexpr uint64_t kMaxLabelBytesPerRead = uint64_t{16} << 20;

// The labels that one rank, or all ranks after a merge, have read.
struct SeenLabels {
  LabelCensus census;
  int64_t width = 0;        // values per label; 0: no label was read
  int64_t label_bytes = 0;  // bytes per label; 0: the split has no edges
};

int64_t CountValuesPerRow(const Tensor& rows) {
  int64_t width = 1;
  for (size_t i = 1; i < rows.shape().size(); ++i) width *= rows.shape()[i];
  return width;
}

uint64_t LabelsPerRead(uint64_t label_bytes) {
  return std::clamp<uint64_t>(kMaxLabelBytesPerRead / std::max<uint64_t>(1, label_bytes), 1, kMaxLabelsPerRead);
}

// Reads the label of the first edge of a part, which must have edges, and returns its size in bytes.
Result<uint64_t> ReadLabelBytes(const EdgeTarget& target, const GraphAccess& graph, SplitPartName part,
                                const Timeouts& timeouts) {
  ASSIGN_OR_RETURN(const sampler::GlobalBatch first, ReadEdgeChunk(target, graph, part, /*chunk=*/0, /*size=*/1,
                                                                   /*with_labels=*/true, timeouts.ForData()));
  return first.rows.row_bytes();
}

// Reads this rank's share of the labels of all parts. Checks the labels against the target's number of outputs if that
// number is known.
Result<SeenLabels> ScanLabels(const EdgeTarget& target, const GraphAccess& graph, Rank rank, uint32_t num_ranks,
                              const Timeouts& timeouts) {
  SeenLabels seen{.census = {target.loss, target.split, target.label, "edge"}};
  for (const SplitPartName part : kEveryPart) {
    ASSIGN_OR_RETURN(const uint64_t count, graph.seeds.CountOfEdges(target.edge_type, target.split, part));
    if (count == 0) continue;
    ASSIGN_OR_RETURN(const uint64_t label_bytes, ReadLabelBytes(target, graph, part, timeouts));
    seen.label_bytes = static_cast<int64_t>(label_bytes);
    const uint64_t per_read = LabelsPerRead(label_bytes);
    for (uint64_t chunk = rank.value; chunk * per_read < count; chunk += num_ranks) {
      ASSIGN_OR_RETURN(const sampler::GlobalBatch edges,
                       ReadEdgeChunk(target, graph, part, chunk, per_read, /*with_labels=*/true, timeouts.ForData()));
      seen.width = CountValuesPerRow(edges.rows);
      EdgeTarget checked = target;
      if (target.loss == LossKind::kCrossEntropy) {
        if (seen.width != 1) break;  // SetOutputs returns the error
        if (checked.num_outputs == 0) checked.num_outputs = job::kMaxLabelClasses;
      } else if (checked.num_outputs == 0) {
        checked.num_outputs = seen.width;
      }
      ASSIGN_OR_RETURN(const torch::Tensor labels, ToLabels(checked, edges.rows));
      seen.census.Add(part, labels);
    }
  }
  return seen;
}

// Calls ScanLabels and merges the results of all ranks. An error of one rank is returned on all ranks.
Result<SeenLabels> ScanLabelsOnAllRanks(const EdgeTarget& target, const GraphAccess& graph,
                                        collective::Collective& collective, const Timeouts& timeouts) {
  Result<SeenLabels> seen = ScanLabels(target, graph, collective.rank(), collective.size(), timeouts);
  RETURN_IF_ERROR(collective::AgreeOn(seen.status(), collective, timeouts.collective));
  RETURN_IF_ERROR(seen->census.MergeOverRanks(collective, timeouts.collective));
  const int64_t mine[] = {seen->width, seen->label_bytes};
  ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                   collective.AllGather(std::as_bytes(std::span(mine)), timeouts.ForCollective()));
  for (size_t at = 0; at + sizeof(mine) <= all.size(); at += sizeof(mine)) {
    int64_t of_rank[std::size(mine)];
    std::memcpy(of_rank, all.data() + at, sizeof(of_rank));
    seen->width = std::max(seen->width, of_rank[0]);
    seen->label_bytes = std::max(seen->label_bytes, of_rank[1]);
  }
  return seen;
}

// Sets the target's label_bytes and, if num_outputs is 0, num_outputs. InvalidArgument if the labels have the wrong
// width, or if num_outputs is 0 and there are no labels.
Status SetOutputs(const SeenLabels& seen, EdgeTarget* target) {
  target->label_bytes = static_cast<uint64_t>(seen.label_bytes);
  const std::string column = "spec.training.task.label: edge column '" + target->label + "'";
  if (target->loss == LossKind::kCrossEntropy) {
    if (seen.width > 1) {
      return InvalidArgument(column + " has " + std::to_string(seen.width) +
                             " values per edge; expected one class (or multiLabel: true)");
    }
    if (target->num_outputs == 0) target->num_outputs = seen.census.num_classes();
  } else if (target->num_outputs == 0) {
    target->num_outputs = seen.width;
  } else if (seen.width > 0 && seen.width != target->num_outputs) {
    return InvalidArgument(column + " has " + std::to_string(seen.width) + " values per edge, but the model has " +
                           std::to_string(target->num_outputs) + " outputs");
  }
  if (target->num_outputs > 0) return Status();
  return InvalidArgument("no edge of split '" + target->split + "' has a label in '" + target->label + "'");
}

}  // namespace

Result<sampler::GlobalBatch> ReadEdgeChunk(const EdgeTarget& target, const GraphAccess& graph, SplitPartName part,
                                           uint64_t chunk, uint64_t size, bool with_labels, Deadline deadline) {
  sampler::SeedQuery query{
      .split = target.split, .part = part, .shuffle = false, .step = static_cast<uint32_t>(chunk), .batch_size = size};
  query.edge_types = {target.edge_type};
  if (with_labels) query.edge_column = target.label;
  return graph.seeds.SeedsOfStep(query, deadline);
}

Result<torch::Tensor> ToLabels(const EdgeTarget& target, const Tensor& rows) {
  const std::string column = "edge column '" + target.label + "'";
  ASSIGN_OR_RETURN(const torch::Tensor labels, ToLabels(target.loss, rows, CountValuesPerRow(rows)).While(column));
  RETURN_IF_ERROR(CheckLabels(target.loss, labels, target.num_outputs).While(column));
  return labels;
}

Result<LabeledEdges> ReadLabeledEdgeChunk(const EdgeTarget& target, const GraphAccess& graph, SplitPartName part,
                                          uint64_t chunk, uint64_t size, const Timeouts& timeouts) {
  // The largest divisor of `size` within the limits of one read.
  uint64_t per_read = std::min(size, LabelsPerRead(target.label_bytes));
  while (size % per_read != 0) --per_read;
  const uint64_t num_reads = size / per_read;
  LabeledEdges edges;
  std::vector<torch::Tensor> labels;
  for (uint64_t read = chunk * num_reads; read < (chunk + 1) * num_reads; ++read) {
    ASSIGN_OR_RETURN(const sampler::GlobalBatch some,
                     ReadEdgeChunk(target, graph, part, read, per_read, /*with_labels=*/true, timeouts.ForData()));
    if (some.seeds.empty() && !labels.empty()) break;
    ASSIGN_OR_RETURN(labels.emplace_back(), ToLabels(target, some.rows));
    edges.sources.insert(edges.sources.end(), some.sources.begin(), some.sources.end());
    edges.destinations.insert(edges.destinations.end(), some.seeds.begin(), some.seeds.end());
  }
  edges.labels = labels.size() == 1 ? labels.front() : torch::cat(labels);
  return edges;
}

Result<EdgeTarget> MakeEdgeTarget(const job::Training& training, const GraphAccess& graph,
                                  std::optional<int64_t> num_outputs, collective::Collective& collective,
                                  const Timeouts& timeouts, std::vector<std::string>* warnings) {
  EdgeTarget target;
  ASSIGN_OR_RETURN(target.edge_type, job::FindLabeledEdgeType(training.task, graph.schema()));
  target.split = training.task.split;
  target.label = training.task.label;
  target.loss = ToLossKind(training.task);
  target.num_outputs = num_outputs.value_or(0);
  const Result<SeenLabels> seen = ScanLabelsOnAllRanks(target, graph, collective, timeouts);
  if (!seen.ok() && seen.status().code() == StatusCode::kNotFound && OnlyInfers(training) && num_outputs.has_value()) {
    target.label.clear();
    return target;
  }
  if (!seen.ok()) return seen.status();
  if (!OnlyInfers(training)) {
    RETURN_IF_ERROR(seen->census.CheckTraining());
    *warnings = seen->census.Warnings();
  }
  RETURN_IF_ERROR(SetOutputs(*seen, &target));
  return target;
}

}  // namespace espalier::trainer
