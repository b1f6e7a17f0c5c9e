#include "services/apps/serving/job_check.h"

#include <algorithm>
#include <string>

#include "services/job/enum_names.h"
#include "services/job/sampling/sampling_enums.h"

namespace espalier::serving {
namespace {

Status Differs(const std::string& what, const std::string& asked, const std::string& of_job) {
  return FailedPrecondition("a stream with " + what + " " + asked + ", this sampler's job has " + of_job);
}

Status CheckLinksAreOfJob(const sampler::EpochPlan& plan, const job::Task& task) {
  const bool of_edges = task.type == job::TaskType::kLinkPrediction;
  if (plan.links.has_value() != of_edges) {
    return Differs("batches of", plan.links.has_value() ? "edges" : "nodes", of_edges ? "edges" : "nodes");
  }
  if (!of_edges) return Status();
  const sampler::NegativeSpec& negatives = plan.links->negatives;
  if (negatives.kind != NegativeKindOf(task.negatives)) {
    return Differs("negatives", std::to_string(static_cast<int>(negatives.kind)), NameOf(task.negatives));
  }
  if (negatives.count != static_cast<uint64_t>(task.num_negatives)) {
    return Differs("negatives of an edge", std::to_string(negatives.count), std::to_string(task.num_negatives));
  }
  return Status();
}

}  // namespace

Status CheckStreamIsOfJob(const server::StreamPlan& stream, const job::DistTraining& job) {
  const job::Training& training = job.training;
  if (stream.spec.seed != training.seed) {
    return Differs("seed", std::to_string(stream.spec.seed), std::to_string(training.seed));
  }
  if (stream.plan.batch_size != static_cast<uint64_t>(training.batch_size)) {
    return Differs("batch size", std::to_string(stream.plan.batch_size), std::to_string(training.batch_size));
  }
  if (stream.plan.split != training.task.split) return Differs("split", stream.plan.split, training.task.split);
  // No layers, of a model without message passing, are one that draws nothing.
  const size_t num_layers = std::max<size_t>(1, training.sampling.layers.size());
  if (stream.spec.layers.size() != num_layers) {
    return Differs("layers", std::to_string(stream.spec.layers.size()), std::to_string(num_layers));
  }
  if (stream.spec.replace != training.sampling.replace) {
    return Differs("replacement", stream.spec.replace ? "on" : "off", training.sampling.replace ? "on" : "off");
  }
  if (stream.spec.weight_column != training.sampling.weight) {
    return Differs("weight", "'" + stream.spec.weight_column + "'", "'" + training.sampling.weight + "'");
  }
  if (stream.spec.method != DrawMethodOf(training.sampling.method)) {
    return Differs("method", std::to_string(static_cast<int>(stream.spec.method)), NameOf(training.sampling.method));
  }
  if (stream.spec.layer_dependency != training.sampling.layer_dependency) {
    return Differs("layerDependency", stream.spec.layer_dependency ? "on" : "off",
                   training.sampling.layer_dependency ? "on" : "off");
  }
  if (stream.spec.seed_time_column != training.sampling.seed_time) {
    return Differs("seedTime", "'" + stream.spec.seed_time_column + "'", "'" + training.sampling.seed_time + "'");
  }
  const std::string time_column = training.sampling.seed_time.empty() ? "" : job.graph.time_column;
  if (stream.spec.time_column != time_column) {
    return Differs("time column", "'" + stream.spec.time_column + "'", "'" + time_column + "'");
  }
  return CheckLinksAreOfJob(stream.plan, training.task);
}

}  // namespace espalier::serving
