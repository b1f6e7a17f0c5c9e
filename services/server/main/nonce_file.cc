#include "services/server/main/nonce_file.h"

#include "services/base/write_all.h"
#include "services/storage/files/scratch_folder.h"
#include "services/telemetry/log.h"

#include <unistd.h>

#include <filesystem>
#include <random>
#include <utility>
#include <vector>

#include "services/base/hash.h"

namespace espalier::server {
namespace {

constexpr const char* kPrefix = ".espalier-nonce-";

// Returns 64 random hexadecimal digits.
std::string RandomHex() {
  std::random_device device;
  std::string hex;
  for (int i = 0; i < 4; ++i) hex += ToHex(uint64_t{device()} << 32 | device());
  return hex;
}

// Removes the nonce files in `folder` that no running process has locked.
void RemoveAbandoned(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(kPrefix)) found.push_back(at->path());
  }
  for (const std::string& path : found) {
    const auto lock = storage::FileLock::TryAcquire(path, storage::LockMode::kExclusive);
    if (lock.ok()) ::unlink(path.c_str());
  }
}

}  // namespace

NonceFile::NonceFile(std::string path, std::string nonce, storage::FileLock lock)
    : path_(std::move(path)), nonce_(std::move(nonce)), lock_(std::move(lock)) {}
NonceFile::NonceFile(NonceFile&& other) noexcept
    : path_(std::exchange(other.path_, "")), nonce_(std::move(other.nonce_)), lock_(std::move(other.lock_)) {}
NonceFile::~NonceFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<NonceFile> NonceFile::Create(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(folder, error);
  if (error) return FromErrno(error.value(), "resolving " + folder);
  RemoveAbandoned(absolute);
  // Another process may remove the new file as abandoned before it is locked here: the loop then tries another name.
  constexpr int kTries = 10;
  Result<storage::FileLock> lock = Unavailable("never tried");
  std::string path;
  for (int i = 0; i < kTries && lock.status().code() == StatusCode::kUnavailable; ++i) {
    path = (absolute / (kPrefix + RandomHex().substr(0, 16))).string();
    lock = storage::FileLock::TryAcquire(path, storage::LockMode::kShared);
  }
  if (!lock.ok()) return std::move(lock).status().While("making a file in " + absolute.string());
  NonceFile created(path, RandomHex(), *std::move(lock));
  RETURN_IF_ERROR(WriteAll(created.lock_.descriptor(), created.nonce(), path));
  return created;
}

std::optional<NonceFile> OfferNonce(const std::string& data_dir) {
  const Result<std::string> folder = data_dir.empty() ? storage::ScratchFolder() : data_dir;
  Result<NonceFile> nonce = folder.ok() ? NonceFile::Create(*folder) : folder.status();
  if (nonce.ok()) return *std::move(nonce);
  telemetry::Log(telemetry::Level::kWarning, "files are not offered for mapping", {{"error", nonce.status()}});
  return std::nullopt;
}

}  // namespace espalier::server
