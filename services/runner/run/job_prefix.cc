// An incarnation number must never be used twice below a prefix. FindEarlierRun therefore takes the maximum over all
// traces: the outputs' manifest, checkpoints and results/<incarnation>/. DeleteEarlierRun deletes the outputs' manifest
// and result.json first, then the checkpoints (of each checkpoint, its manifest first), then the files of
// runs below results/.
#include "services/runner/run/job_prefix.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "services/format/results/outputs_manifest.h"
#include "services/storage/object_key.h"

namespace espalier::run {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kResult = "result.json";
constexpr std::string_view kResults = "results/";

// Returns the manifest of the committed outputs; incarnation 0 if there are none. FailedPrecondition if manifest.json
// describes something else, which the run must not replace.
Result<format::OutputsManifest> ReadCommitted(const storage::StoreLocation& prefix) {
  const Result<std::string> text = prefix.store->Get(storage::JoinKey(prefix.prefix, kManifest));
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return format::OutputsManifest{};
  if (!text.ok()) return text.status();
  if (!format::IsOutputsManifest(*text)) {
    return FailedPrecondition(prefix.store->Describe() +
                              " has a manifest.json that does not describe a run's outputs: choose another location "
                              "for the outputs");
  }
  return format::OutputsManifestFromJson(*text);
}

std::string PositionIn(const format::CheckpointManifest& manifest) {
  return "epoch " + std::to_string(manifest.epoch) + ", step " + std::to_string(manifest.next_step);
}

std::string JobNameIn(const std::string& result_json) {
  const auto result = nlohmann::json::parse(result_json, nullptr, /*allow_exceptions=*/false);
  return result.is_object() && result.contains("name") && result["name"].is_string() ? result["name"] : "";
}

}  // namespace

const format::CheckpointListing* EarlierRun::NewestCheckpoint() const {
  const auto newest = std::find_if(checkpoints.rbegin(), checkpoints.rend(),
                                   [](const auto& c) { return c.state == format::CheckpointState::kComplete; });
  return newest == checkpoints.rend() ? nullptr : &*newest;
}

size_t EarlierRun::num_complete() const {
  return static_cast<size_t>(std::count_if(checkpoints.begin(), checkpoints.end(), [](const auto& c) {
    return c.state == format::CheckpointState::kComplete;
  }));
}

Result<EarlierRun> FindEarlierRun(const storage::StoreLocation& prefix) {
  EarlierRun earlier;
  ASSIGN_OR_RETURN(const format::OutputsManifest manifest, ReadCommitted(prefix));
  const uint64_t committed = manifest.incarnation;
  earlier.newest_incarnation = committed;
  earlier.job_name = JobNameIn(manifest.result_json);
  ASSIGN_OR_RETURN(earlier.checkpoints,
                   format::ListCheckpoints(*prefix.store, storage::JoinKey(prefix.prefix, kCheckpoints)));
  for (const format::CheckpointListing& checkpoint : earlier.checkpoints) {
    earlier.newest_incarnation = std::max(earlier.newest_incarnation, checkpoint.id.incarnation);
  }
  // A newer checkpoint is from a run that resumed after the commit and was interrupted before its own commit.
  const format::CheckpointListing* newest = earlier.NewestCheckpoint();
  earlier.outputs_committed = committed > 0 && (newest == nullptr || committed >= newest->id.incarnation);
  const std::string results = storage::JoinKey(prefix.prefix, kResults);
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects, prefix.store->List(results));
  for (const storage::ObjectInfo& object : objects) {
    const std::string_view below = std::string_view(object.key).substr(results.size() - kResults.size());
    const std::optional<uint64_t> incarnation = format::IncarnationOfResult(below);
    if (!incarnation.has_value()) continue;  // not written by a run
    earlier.result_keys.push_back(object.key);
    earlier.newest_incarnation = std::max(earlier.newest_incarnation, *incarnation);
  }
  return earlier;
}

Status DeleteEarlierRun(const storage::StoreLocation& prefix, const EarlierRun& earlier) {
  if (earlier.newest_incarnation > 0) {
    for (const char* name : {kManifest, kResult}) {
      RETURN_IF_ERROR(prefix.store->Delete(storage::JoinKey(prefix.prefix, name)));
    }
  }
  for (const format::CheckpointListing& checkpoint : earlier.checkpoints) {
    RETURN_IF_ERROR(format::RemoveCheckpoint(*prefix.store, checkpoint.folder).While("removing an earlier checkpoint"));
  }
  if (earlier.result_keys.empty()) return Status();
  return prefix.store->DeleteMany(earlier.result_keys).While("removing an earlier run's results");
}

std::string PositionText(const EarlierRun& earlier) {
  const format::CheckpointListing* newest = earlier.NewestCheckpoint();
  return newest == nullptr ? "the beginning" : PositionIn(newest->manifest);
}

Result<std::string> DescribePosition(const storage::StoreLocation& named) {
  ASSIGN_OR_RETURN(const format::CheckpointManifest manifest, format::ReadNamedCheckpoint(*named.store, named.prefix));
  return PositionIn(manifest);
}

std::string NewestPositionText(const storage::StoreLocation& prefix) {
  Result<std::vector<format::CheckpointListing>> found =
      format::ListCheckpoints(*prefix.store, storage::JoinKey(prefix.prefix, kCheckpoints));
  if (!found.ok()) return UnknownPositionText(found.status());
  EarlierRun earlier;
  earlier.checkpoints = *std::move(found);
  return PositionText(earlier);
}

std::string UnknownPositionText(const Status& reason) { return "the newest checkpoint (" + reason.message() + ")"; }

}  // namespace espalier::run
