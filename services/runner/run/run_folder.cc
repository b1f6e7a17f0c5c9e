#include "services/runner/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "services/base/make_folder.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;

Status Remove(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? FromErrno(error.value(), "removing the earlier run's " + path.string()) : Status();
}

// The files and folders that the next run in the folder removes or replaces in addition to the logs. The outputs'
// manifest comes first, so that it never refers to files that have been removed.
constexpr const char* kLeftovers[] = {"manifest.json", "result.json", "metrics.jsonl", "model", "embeddings",
                                      "predictions",   "logits",      "tensorboard",   "audit"};

// Returns FailedPrecondition if `folder`, which no run has used, contains something that a run would replace.
Status CheckFree(const fs::path& folder) {
  std::error_code ignored;
  std::vector<std::string> names(std::begin(kLeftovers), std::end(kLeftovers));
  names.insert(names.end(), {"logs", "run", "job.json"});
  for (const std::string& name : names) {
    if (!fs::exists(folder / name, ignored)) continue;
    return FailedPrecondition(folder.string() + " has " + name +
                              ", which does not belong to an earlier run: choose another --output");
  }
  return Status();
}

}  // namespace

Result<RunFolder> RunFolder::Open(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).lexically_normal();
  if (error) return FromErrno(error.value(), "finding " + path);
  RETURN_IF_ERROR(MakeFolder(folder));

  const std::string lock_path = folder / ".lock";
  std::error_code ignored;
  const bool had_lock = fs::exists(lock_path, ignored);
  if (!had_lock) RETURN_IF_ERROR(CheckFree(folder));
  Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock.is_open()) return FromErrno(errno, "opening " + lock_path);
  std::string text = folder.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  RunFolder result(text, std::move(lock));
  if (flock(result.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FromErrno(errno, "locking " + lock_path);
    return Aborted("another run is using " + result.path() + ": choose another --output, or wait for it");
  }
  // The lock file alone does not prove that a run used the folder: users who empty a folder often leave hidden files.
  const bool is_of_a_run = fs::exists(folder / "run", ignored) || fs::exists(folder / "job.json", ignored);
  if (had_lock && !is_of_a_run) RETURN_IF_ERROR(CheckFree(folder));
  return result;
}

Status RunFolder::RemoveRunFiles() const {
  const fs::path run = fs::path(path()) / "run";
  RETURN_IF_ERROR(MakeFolder(run));
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path() != fs::path(StateFile())) RETURN_IF_ERROR(Remove(entry->path()));
  }
  return error ? FromErrno(error.value(), "listing " + run.string()) : Status();
}

Status RunFolder::RemoveResults(bool keep_logs) const {
  RETURN_IF_ERROR(RemoveAll({std::begin(kLeftovers), std::end(kLeftovers)}, keep_logs));
  return MakeFolder(fs::path(path()) / "audit");
}

Status RunFolder::RemoveResultOfProgram(bool keep_logs) const { return RemoveAll({"result.json"}, keep_logs); }

Status RunFolder::RemoveAll(const std::vector<std::string>& leftovers, bool keep_logs) const {
  const fs::path folder(path());
  for (const std::string& name : leftovers) RETURN_IF_ERROR(Remove(folder / name));
  if (!keep_logs) RETURN_IF_ERROR(Remove(folder / "logs"));
  return MakeFolder(folder / "logs");
}

}  // namespace espalier::run
