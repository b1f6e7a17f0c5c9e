#include "services/runner/run/publish.h"

#include <filesystem>
#include <vector>

#include "services/base/make_folder.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/object_key.h"
#include "services/telemetry/process.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;

// Moves DIR/<key> to DIR/<name>. Does nothing if an earlier call has already moved it.
Status Move(const fs::path& folder, const std::string& key, const std::string& name) {
  RETURN_IF_ERROR(MakeFolder((folder / name).parent_path()));
  std::error_code error;
  if (!fs::exists(folder / key, error) && fs::exists(folder / name, error)) return Status();
  fs::rename(folder / key, folder / name, error);
  return error ? FromErrno(error.value(), "moving " + (folder / key).string() + " to " + name) : Status();
}

// Removes the results of all incarnations. Other files below results/ are kept.
Status RemoveResults(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator at(folder / "results", error), end; !error && at != end; at.increment(error)) {
    const std::string key = "results/" + at->path().filename().string() + "/";
    if (format::IncarnationOfResult(key).has_value()) old.push_back(at->path());
  }
  for (const fs::path& path : old) {
    if (!error) fs::remove_all(path, error);
  }
  if (error == std::errc::no_such_file_or_directory) return Status();
  if (error) return FromErrno(error.value(), "removing " + (folder / "results").string());
  fs::remove(folder / "results", error);  // no effect if other files are left in it
  return Status();
}

Status PublishInFolder(const RunFolder& run_folder, format::OutputsManifest manifest) {
  const fs::path folder = run_folder.path();
  const std::string results = format::ResultsFolder(manifest.incarnation) + "/";
  for (format::OutputFile& output : manifest.files) {
    if (!output.file.key.starts_with(results)) continue;
    const std::string name = output.file.key.substr(results.size());
    RETURN_IF_ERROR(Move(folder, output.file.key, name));
    output.file.key = name;
  }
  RETURN_IF_ERROR(telemetry::WriteFileAtomically(folder / "manifest.json", format::OutputsManifestToJson(manifest)));
  return RemoveResults(folder);
}

}  // namespace

Status PublishOutputs(const RunFolder& folder, const storage::StoreLocation& output) {
  const auto manifest = format::ReadOutputsManifest(*output.store, output.prefix);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound) {
    return Internal("the trainers succeeded without committing outputs to " + output.store->Describe());
  }
  if (!manifest.ok()) return manifest.status();
  const auto path = output.store->LocalPath(storage::JoinKey(output.prefix, "manifest.json"));
  if (path == folder.path() + "/manifest.json") return PublishInFolder(folder, *manifest);
  return telemetry::WriteFileAtomically(folder.ResultFile(), manifest->result_json);
}

}  // namespace espalier::run
