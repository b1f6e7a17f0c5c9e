#include "services/format/source/digest_cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "services/storage/temporary_file.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDigestDigits = 64;
constexpr size_t kMaxDigests = 4096;

// Removes the older half of the digests if there are more than kMaxDigests. Removing many at once keeps removals
// rare.
void RemoveOlderHalf(const fs::path& folder) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    files.emplace_back(at->last_write_time(gone), at->path());
  }
  if (files.size() <= kMaxDigests) return;
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i < files.size() / 2; ++i) fs::remove(files[i].second, error);
}

}  // namespace

DigestCache::DigestCache(const std::string& folder) : folder_(folder.empty() ? "" : folder + "/digests") {}

std::optional<std::string> DigestCache::Find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(folder_ + "/" + key, std::ios::binary);
  std::string digest(kDigestDigits + 1, '\0');
  file.read(digest.data(), static_cast<std::streamsize>(digest.size()));
  digest.resize(static_cast<size_t>(file.gcount()));
  const bool is_digest =
      digest.size() == kDigestDigits && digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_digest ? std::optional(digest) : std::nullopt;
}

void DigestCache::Put(const std::string& key, const std::string& digest) const {
  if (folder_.empty()) return;
  auto file = storage::TemporaryFile::CreateBeside(fs::path(folder_) / key);
  if (!file.ok() || !(*file)->Write(std::as_bytes(std::span(digest))).ok() || !(*file)->RenameToTarget().ok()) return;
  RemoveOlderHalf(folder_);
}

}  // namespace espalier::format
