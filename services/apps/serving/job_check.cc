#include "services/apps/serving/job_check.h"

#include <string>

namespace espalier::serving {
namespace {

Status Differs(const std::string& what, const std::string& asked, const std::string& of_job) {
  return FailedPrecondition("a stream with " + what + " " + asked + ", this sampler's job has " + of_job);
}

}  // namespace

Status CheckStreamIsOfJob(const server::StreamPlan& stream, const job::Training& training) {
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
  return Status();
}

}  // namespace espalier::serving
