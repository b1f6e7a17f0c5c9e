#include "services/runner/run/store_probe.h"

#include <set>
#include <utility>

#include "services/storage/object_key.h"

namespace espalier::run {

StoreProbe::StoreProbe(const job::DistTraining& job, const storage::StoreOpener& open) {
  for (const std::string& uri : std::set<std::string>{job.output_uri, job.graph.partitions.uri, job.graph.source.uri}) {
    if (uri.empty()) continue;
    if (Result<storage::StoreLocation> store = open(uri); store.ok()) stores_.push_back(*std::move(store));
  }
}

Status StoreProbe::Check() const {
  for (const auto& [store, prefix] : stores_) {
    // Any key will do, because NotFound is also a response.
    Status status = store->Head(storage::JoinKey(prefix, "manifest.json")).status();
    const bool is_unreachable =
        status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
    if (is_unreachable) return status;
  }
  return Status();
}

}  // namespace espalier::run
