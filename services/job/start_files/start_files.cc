#include "services/job/start_files/start_files.h"

#include <string>
#include <vector>

#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/format/files/model_kind.h"
#include "services/format/files/safetensors.h"
#include "services/storage/file_uri.h"
#include "services/storage/object_key.h"

namespace espalier::start_files {
namespace {

using storage::StoreLocation;

// The result of a check: `place` is the status of finding the file or folder, `content` that of reading it. The exit
// code is kBadInput for NotFound in `place` and for errors of `content`, else that of ToExitCodeOfPlace.
struct Checked {
  Status place;
  Status content = {};
};

Status CheckModelKind(const job::Training& training, storage::ObjectStore& store, const std::string& key) {
  ASSIGN_OR_RETURN(const format::FileKind kind, format::DetectFileKind(store, key));
  if (training.model.type == job::ModelType::kTorchScript) return format::CheckIsTorchScript(kind);
  RETURN_IF_ERROR(format::CheckIsModelFile(kind));
  ASSIGN_OR_RETURN(const auto metadata, format::ReadSafetensorsMetadata(store, key));
  return format::CheckIsModelFile(metadata);
}

Checked CheckModel(const job::DistTraining& job, const storage::StoreOpener& open_store) {
  const std::string& uri = job.training.model.uri;
  const Result<StoreLocation> file = storage::LocateFile(uri, open_store);
  if (!file.ok()) return {file.status()};
  if (const Status found = file->store->Head(file->prefix).status(); !found.ok()) return {found};
  const Status kind = CheckModelKind(job.training, *file->store, file->prefix);
  return {Status(), kind.ok() ? kind : Status(kind.code(), uri + " " + kind.message())};
}

Checked CheckCheckpoint(const job::DistTraining& job, const storage::StoreOpener& open_store) {
  const Result<StoreLocation> place = open_store(job.checkpoint.resume_from);
  if (!place.ok()) return {place.status()};
  const Status found = format::ReadNamedCheckpoint(*place->store, place->prefix).status();
  // An invalid manifest is an error of the content, unlike an invalid URI.
  if (found.code() != StatusCode::kInvalidArgument && found.code() != StatusCode::kDataLoss) return {found};
  return {Status(), found.While(job.checkpoint.resume_from)};
}

Checked CheckNodes(const job::DistTraining& job, const storage::StoreOpener& open_store) {
  const Result<StoreLocation> folder = open_store(job.output_nodes_uri);
  if (!folder.ok()) return {folder.status()};
  const Result<std::vector<storage::ObjectInfo>> files = folder->store->List(storage::FolderPrefix(folder->prefix));
  if (!files.ok()) return {files.status()};
  return {files->empty() ? NotFound("the folder " + job.output_nodes_uri + " does not exist or has no files")
                         : Status()};
}

// Returns whether trainers would get the same error when they open the file or folder later.
bool IsFinal(StatusCode code, const SharedWithTrainers& shared) {
  if (code == StatusCode::kNotFound || code == StatusCode::kUnimplemented) return true;
  return shared.credentials && (code == StatusCode::kFailedPrecondition || code == StatusCode::kInvalidArgument);
}

}  // namespace

std::optional<StartFileError> FindStartFileError(const job::DistTraining& job, const SharedWithTrainers& shared,
                                                 const storage::StoreOpener& open_store) {
  struct StartFile {
    const char* field;
    const std::string& uri;
    Checked (*check)(const job::DistTraining& job, const storage::StoreOpener& open_store);
  };
  const bool only_infers = job.training.epochs == 0 && !job.training.model.uri.empty();
  const std::string none;
  const StartFile files[] = {
      {"spec.training.model.uri", job.training.model.uri, CheckModel},
      {"spec.checkpoint.resumeFrom", only_infers ? none : job.checkpoint.resume_from, CheckCheckpoint},
      {"spec.output.nodesUri", job.output_nodes_uri, CheckNodes}};
  for (const auto& [field, uri, check] : files) {
    if (uri.empty() || (storage::IsLocalUri(uri) && !shared.local_files)) continue;
    const auto [place, content] = check(job, open_store);
    if (IsFinal(place.code(), shared)) {
      const bool is_missing = place.code() == StatusCode::kNotFound;
      return StartFileError{is_missing ? ExitCode::kBadInput : ToExitCodeOfPlace(place.code()), place.While(field)};
    }
    if (content.code() == StatusCode::kInvalidArgument || content.code() == StatusCode::kDataLoss) {
      return StartFileError{ExitCode::kBadInput, content.While(field)};
    }
  }
  return std::nullopt;
}

}  // namespace espalier::start_files
