#include "services/job/places.h"

namespace espalier::job {

std::string UriBelow(std::string folder, std::string_view name) {
  while (folder.ends_with('/')) folder.pop_back();
  folder += '/';
  folder += name;
  return folder;
}

std::string PartitionsUri(const DistTraining& job) {
  if (!job.graph.partitions.uri.empty()) return job.graph.partitions.uri;
  return job.output_uri.empty() ? "" : UriBelow(job.output_uri, "partitions");
}

}  // namespace espalier::job
