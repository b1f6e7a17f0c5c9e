#include "services/job/places.h"
#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// The uid prevents a job that is created again from using the checkpoints of the earlier job with the same name.
std::string RunPrefix(const api::DistTraining& training) {
  return job::UriBelow(training.spec->job.output_uri, training.meta.key.name + "-" + training.meta.uid.substr(0, 8));
}

std::string PartitionsPrefix(const api::DistTraining& training) { return job::PartitionsUri(training.spec->job); }

}  // namespace espalier::ctl::resources
