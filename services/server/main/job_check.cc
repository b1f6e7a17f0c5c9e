#include "services/server/main/job_check.h"

#include <algorithm>
#include <string>

#include "services/job/enum_names.h"
#include "services/sampler/spec/draw_difference.h"

namespace espalier::server {
namespace {

Status MismatchError(const std::string& what, const std::string& requested, const std::string& of_job) {
  return FailedPrecondition("the stream has " + what + " " + requested + ", but this sampler's job has " + of_job);
}

std::string DescribeSeeds(const sampler::EpochPlan& plan) {
  return plan.links() != nullptr ? "links" : plan.edges() != nullptr ? "labeled edges" : "nodes";
}

std::string DescribeSeeds(const job::Task& task) {
  if (task.type == job::TaskType::kLinkPrediction) return "links";
  return job::LabelsEdges(task.type) ? "labeled edges" : "nodes";
}

std::string DescribeExclusion(const sampler::EdgePlan& plan) {
  if (!plan.exclude_batch) return job::ToString(job::ExcludeEdges::kNone);
  return job::ToString(plan.exclude_reverse.has_value() ? job::ExcludeEdges::kReverseEdges : job::ExcludeEdges::kSelf);
}

std::string DescribeExclusion(const sampler::LinkPlan& plan) {
  if (!plan.exclude_batch) return job::ToString(job::ExcludeEdges::kNone);
  const bool reverse = std::any_of(plan.types.begin(), plan.types.end(),
                                   [](const sampler::LinkType& type) { return type.reverse_type.has_value(); });
  return job::ToString(reverse ? job::ExcludeEdges::kReverseEdges : job::ExcludeEdges::kSelf);
}

Status CheckEdgesAreOfJob(const sampler::EdgePlan& plan, const job::Task& task) {
  if (plan.label != task.label) return MismatchError("label", "'" + plan.label + "'", "'" + task.label + "'");
  const std::string excluded = job::ToString(task.exclude);
  return DescribeExclusion(plan) == excluded ? Status() : MismatchError("exclude", DescribeExclusion(plan), excluded);
}

Status CheckSeedsAreOfJob(const sampler::EpochPlan& plan, const job::Task& task) {
  if (plan.links() != nullptr && plan.links()->negatives.count == 0 && job::LabelsEdges(task.type)) {
    const std::string excluded = job::ToString(task.exclude);
    return DescribeExclusion(*plan.links()) == excluded
               ? Status()
               : MismatchError("exclude", DescribeExclusion(*plan.links()), excluded);
  }
  if (DescribeSeeds(plan) != DescribeSeeds(task))
    return MismatchError("batches of", DescribeSeeds(plan), "batches of " + DescribeSeeds(task));
  if (plan.edges() != nullptr) return CheckEdgesAreOfJob(*plan.edges(), task);
  if (plan.links() == nullptr) return Status();
  const sampler::NegativeSpec& negatives = plan.links()->negatives;
  if (negatives.kind != task.negatives) {
    return MismatchError("negatives", ToString(negatives.kind), ToString(task.negatives));
  }
  if (negatives.count != static_cast<uint64_t>(task.num_negatives)) {
    return MismatchError("negatives per edge", std::to_string(negatives.count), std::to_string(task.num_negatives));
  }
  if (!plan.links()->exclude_batch) {
    return FailedPrecondition("the stream may sample a step's seed edges, but this sampler's job excludes them");
  }
  return Status();
}

Status CheckDrawsAreOfJob(const sampler::DrawSpec& requested, const sampler::DrawSpec& of_job) {
  const auto difference = sampler::FirstDifference(requested, of_job);
  return difference ? MismatchError(difference->option, difference->first, difference->second) : Status();
}

}  // namespace

Status CheckStreamIsOfJob(const messages::StreamPlan& stream, const job::DistTraining& job,
                          const std::string& job_name) {
  if (stream.job != job_name) {
    return FailedPrecondition("the stream is of job '" + stream.job + "', but this sampler's job is '" + job_name +
                              "' (--job-name)");
  }
  const job::Training& training = job.training;
  if (stream.spec.seed != training.seed) {
    return MismatchError("seed", std::to_string(stream.spec.seed), std::to_string(training.seed));
  }
  if (stream.plan.batch_size != static_cast<uint64_t>(training.batch_size)) {
    return MismatchError("batch size", std::to_string(stream.plan.batch_size), std::to_string(training.batch_size));
  }
  if (stream.plan.split != training.task.split) return MismatchError("split", stream.plan.split, training.task.split);
  // For a model without message passing, the job has no layers, and the stream has one layer that draws nothing
  // (MakeSamplingSpec).
  const size_t num_layers = std::max<size_t>(1, training.sampling.layers.size());
  if (stream.spec.layers.size() != num_layers) {
    return MismatchError("layers", std::to_string(stream.spec.layers.size()), std::to_string(num_layers));
  }
  RETURN_IF_ERROR(CheckDrawsAreOfJob(stream.spec.draw, training.sampling.draw));
  if (stream.spec.seed_time_column != training.sampling.seed_time) {
    return MismatchError("seedTime", "'" + stream.spec.seed_time_column + "'", "'" + training.sampling.seed_time + "'");
  }
  return CheckSeedsAreOfJob(stream.plan, training.task);
}

}  // namespace espalier::server
