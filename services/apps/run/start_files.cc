#include "services/apps/run/start_files.h"

#include <string>
#include <vector>

#include "services/apps/run/job_prefix.h"
#include "services/storage/file_uri.h"
#include "services/storage/object_key.h"

namespace espalier::run {
namespace {

Status CheckFile(const std::string& uri, const storage::StoreOpener& open_store) {
  const size_t slash = uri.rfind('/');
  if (slash == std::string::npos || slash + 1 == uri.size()) return Status();  // which trainers refuse
  ASSIGN_OR_RETURN(const storage::StoreLocation folder, open_store(uri.substr(0, slash + 1)));
  return folder.store->Head(storage::JoinKey(folder.prefix, uri.substr(slash + 1))).status();
}

Status CheckFolder(const std::string& uri, const storage::StoreOpener& open_store) {
  ASSIGN_OR_RETURN(const storage::StoreLocation folder, open_store(uri));
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> files,
                   folder.store->List(storage::FolderPrefix(folder.prefix)));
  return files.empty() ? NotFound("there is no folder " + uri + ", or no file in it") : Status();
}

Status CheckCheckpoint(const std::string& uri, const storage::StoreOpener& open_store) {
  ASSIGN_OR_RETURN(const storage::StoreLocation place, open_store(uri));
  const Status found = PositionTextOf(place).status();
  // Of several checkpoints trainers take the newest that loads.
  return found.code() == StatusCode::kInvalidArgument ? Status() : found;
}

}  // namespace

Status CheckStartFiles(const job::DistTraining& job, job::RunsOn runs_on, const storage::StoreOpener& open_store) {
  struct Start {
    const char* field;
    const std::string& uri;
    Status (*check)(const std::string& uri, const storage::StoreOpener& open_store);
  };
  const bool only_infers = job.training.epochs == 0 && !job.training.model.uri.empty();
  const std::string none;
  const Start starts[] = {
      {"spec.training.model.uri", job.training.model.uri, CheckFile},
      {"spec.checkpoint.resumeFrom", only_infers ? none : job.checkpoint.resume_from, CheckCheckpoint},
      {"spec.output.nodesUri", job.output_nodes_uri, CheckFolder}};
  for (const auto& [field, uri, check] : starts) {
    if (uri.empty() || (storage::IsLocalUri(uri) && runs_on != job::RunsOn::kLaptop)) continue;
    const Status found = check(uri, open_store);
    const StatusCode code = found.code();
    const bool is_final = code == StatusCode::kNotFound || code == StatusCode::kFailedPrecondition ||
                          code == StatusCode::kInvalidArgument || code == StatusCode::kUnimplemented;
    if (is_final) return found.While(field);
  }
  return Status();
}

}  // namespace espalier::run
