#include "services/apps/serving/job_check.h"

#include <string>

#include "services/job/enum_names.h"

namespace espalier::serving {
namespace {

Status Differs(const std::string& what, const std::string& asked, const std::string& of_job) {
  return FailedPrecondition("a stream with " + what + " " + asked + ", this sampler's job has " + of_job);
}

sampler::DrawMethod MethodOf(job::SamplingMethod method) {
  switch (method) {
    case job::SamplingMethod::kNeighbor: return sampler::DrawMethod::kNeighbor;
    case job::SamplingMethod::kLabor: return sampler::DrawMethod::kLabor;
    case job::SamplingMethod::kLast: return sampler::DrawMethod::kLast;
  }
  return sampler::DrawMethod::kNeighbor;
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
  if (stream.spec.layers.size() != training.sampling.layers.size()) {
    return Differs("layers", std::to_string(stream.spec.layers.size()),
                   std::to_string(training.sampling.layers.size()));
  }
  if (stream.spec.replace != training.sampling.replace) {
    return Differs("replacement", stream.spec.replace ? "on" : "off", training.sampling.replace ? "on" : "off");
  }
  if (stream.spec.weight_column != training.sampling.weight) {
    return Differs("weight", "'" + stream.spec.weight_column + "'", "'" + training.sampling.weight + "'");
  }
  if (stream.spec.method != MethodOf(training.sampling.method)) {
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
  return Status();
}

}  // namespace espalier::serving
