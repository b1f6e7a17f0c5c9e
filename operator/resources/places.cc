#include "operator/resources/builders.h"

namespace espalier::ctl::resources {
namespace {

std::string Below(std::string uri, const std::string& name) {
  while (uri.ends_with('/')) uri.pop_back();
  return uri + "/" + name;
}

}  // namespace

// The uid keeps a job that was created again away from the checkpoints of its namesake.
std::string RunPrefix(const api::DistTraining& training) {
  return Below(training.spec->job.output_uri, training.meta.key.name + "-" + training.meta.uid.substr(0, 8));
}

std::string PartitionsPrefix(const api::DistTraining& training) {
  const job::DistTraining& job = training.spec->job;
  return job.graph.partitions.uri.empty() ? Below(job.output_uri, "partitions") : job.graph.partitions.uri;
}

}  // namespace espalier::ctl::resources
