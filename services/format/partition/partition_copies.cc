// Get returns the file itself if the store is local. Otherwise it copies the file into storage::LocalCache. The cache
// has one entry for each partition folder and one entry for the manifest. It fetches each file once per host, resumes
// interrupted downloads, and does not evict entries that are pinned. The pin of a LocalFile pins the entry of the
// file's folder and the entry of the manifest, so that a copy in use is never left without its manifest.
#include "services/format/partition/partition_copies.h"

#include <filesystem>
#include <utility>

#include "services/base/sha256.h"
#include "services/base/write_all.h"
#include "services/format/files/checksum.h"
#include "services/format/files/mapped_file.h"
#include "services/format/partition/partition_names.h"
#include "services/storage/cache/block_download.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

// Returns the name of the folder of the copies in the cache. Equal names mean equal files, because the hashed manifest
// contains the checksums of all files.
std::string FormatFolderName(const Manifest& manifest) {
  constexpr size_t kDigits = 16;
  return "partitions/" + manifest.partition_key.substr(0, kDigits) + "-" +
         Sha256Hex(ManifestToJson(manifest)).substr(0, kDigits);
}

using Pins = std::pair<std::shared_ptr<storage::CacheEntry>, std::shared_ptr<storage::CacheEntry>>;

// Returns true if the copy has the size and checksums that the manifest lists for the file. If a stop is requested, may
// return false for a good copy; CacheEntry then keeps it.
bool IsGoodCopy(const FileEntry& file, const std::string& path, const LoadOptions& options) {
  const auto mapped = MappedFile::Open(path, file.size_bytes);
  return mapped.ok() && CheckBlocks(file, (*mapped)->bytes(), path, options.threads, options.stop_requested).ok();
}

}  // namespace

Result<std::string> FolderOfCopies(const std::string& data_dir, const Manifest& manifest) {
  ASSIGN_OR_RETURN(const storage::LocalCache cache, storage::LocalCache::Open({.folder = data_dir}));
  return cache.folder() + "/" + FormatFolderName(manifest);
}

PartitionCopies::PartitionCopies(storage::ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                                 const LoadOptions& options)
    : store_(store),
      prefix_(prefix),
      manifest_(manifest),
      options_(options),
      deadline_(Deadline::After(options.download_timeout)) {}

Result<LocalFile> PartitionCopies::Get(const FileEntry& file) {
  const std::string key = storage::JoinKey(prefix_, file.key);
  if (std::optional<std::string> path = store_.LocalPath(key)) return LocalFile{.path = *std::move(path), .pin = {}};
  ASSIGN_OR_RETURN(const storage::ObjectInfo object, store_.Head(key).While(store_.Describe()));
  if (object.size_bytes != file.size_bytes) {
    return DataLoss(store_.Describe() + ": " + key + " has " + std::to_string(object.size_bytes) + " bytes, expected " +
                    std::to_string(file.size_bytes));
  }
  if (options_.data_dir.empty()) {
    return FailedPrecondition(store_.Describe() + ": " + key +
                              " is not a local file, and no data directory for a copy is set");
  }
  if (!cache_) {
    ASSIGN_OR_RETURN(storage::LocalCache cache,
                     storage::LocalCache::Open({.folder = options_.data_dir, .max_bytes = options_.cache_bytes}));
    cache_.emplace(std::move(cache));
    name_ = FormatFolderName(manifest_);
    RETURN_IF_ERROR(PutManifest());
  }
  return Copy(key, file);
}

Result<std::shared_ptr<storage::CacheEntry>> PartitionCopies::EntryFor(const std::string& folder) {
  std::shared_ptr<storage::CacheEntry>& entry = pinned_[folder];
  if (entry == nullptr) {
    ASSIGN_OR_RETURN(entry, cache_->Pin(folder.empty() ? name_ : name_ + "/" + folder, deadline_));
  }
  return entry;
}

// Copies the manifest, so that the copies can be loaded without the store.
Status PartitionCopies::PutManifest() {
  const std::string text = ManifestToJson(manifest_);
  ASSIGN_OR_RETURN(const auto entry, EntryFor(""));
  storage::CachedFileRequest request = {
      .name = kManifestKey,
      .size_bytes = text.size(),
      .is_good =
          [&](const std::string& path) {
            const auto mapped = MappedFile::Open(path, text.size());
            return mapped.ok() && std::ranges::equal((*mapped)->bytes(), std::as_bytes(std::span(text)));
          },
      .fill = [&](const storage::PartialFile& partial) { return WriteAll(partial.descriptor, text, partial.path); }};
  request.stop_requested = options_.stop_requested;
  return entry->GetOrMake(request, deadline_).While("copying the manifest").status();
}

Result<LocalFile> PartitionCopies::Copy(const std::string& key, const FileEntry& file) {
  const std::filesystem::path place(file.key);
  ASSIGN_OR_RETURN(const auto entry, EntryFor(place.parent_path().generic_string()));
  const storage::BlockDownload download = {
      .key = key, .size_bytes = file.size_bytes, .block_bytes = kChecksumBlockBytes, .block_hashes = file.block_hashes};
  storage::DownloadOptions options;
  options.parallel_requests = options_.parallel_requests;
  options.deadline = deadline_;
  options.stop_requested = options_.stop_requested;
  if (options_.progress) {
    options.progress = [&](uint64_t present, uint64_t size) { options_.progress(file.key, present, size); };
  }
  storage::CachedFileRequest request = {
      .name = place.filename().string(), .size_bytes = file.size_bytes, .is_good = nullptr, .fill = nullptr};
  request.stop_requested = options_.stop_requested;
  if (options_.checksums == Checksums::kCompareOnce) request.verify = storage::VerifyWhen::kOncePerUse;
  if (options_.checksums != Checksums::kSkip) {
    request.is_good = [&](const std::string& path) { return IsGoodCopy(file, path, options_); };
  }
  bool is_fetched = false;
  request.fill = [&](const storage::PartialFile& partial) {
    is_fetched = true;
    return storage::DownloadBlocks(store_, download, partial, options).status();
  };
  ASSIGN_OR_RETURN(std::string path, entry->GetOrMake(request, deadline_));
  if (options_.copied != nullptr) {
    (is_fetched ? options_.copied->fetched : options_.copied->found) += file.size_bytes;
  }
  return LocalFile{.path = std::move(path),
                   .verified = options_.checksums != Checksums::kSkip,
                   .pin = std::make_shared<const Pins>(entry, pinned_.at(""))};
}

}  // namespace espalier::format
