#include "services/apps/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

namespace espalier::run {
namespace {

namespace fs = std::filesystem;

Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? FromErrno(error.value(), "making the folder " + path.string()) : Status();
}

Status Remove(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? FromErrno(error.value(), "removing the earlier run's " + path.string()) : Status();
}

}  // namespace

Result<RunFolder> RunFolder::Open(const std::string& path, bool keep_logs) {
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).lexically_normal();
  if (error) return FromErrno(error.value(), "finding " + path);
  RETURN_IF_ERROR(MakeFolder(folder));

  const std::string lock_path = folder / ".lock";
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0) return FromErrno(errno, "opening " + lock_path);
  std::string text = folder.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  RunFolder result(text, lock);
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FromErrno(errno, "locking " + lock_path);
    return FailedPrecondition("another run is using " + result.path() + ": choose another --output, or wait for it");
  }

  std::vector<std::string> leftovers = {"result.json", "metrics.jsonl", "model", "embeddings",
                                        "predictions", "logits",        "run",   "audit"};
  if (!keep_logs) leftovers.push_back("logs");
  for (const std::string& name : leftovers) RETURN_IF_ERROR(Remove(folder / name));
  for (const char* name : {"logs", "run", "audit"}) RETURN_IF_ERROR(MakeFolder(folder / name));
  return result;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace espalier::run
