// Copies go into one cache entry that is named by the fingerprint of the source, so that another version of the source
// gets another entry. Each file is a CachedFileRequest: it is complete and verified when it gets its name, and its
// journal lets a later call resume an interrupted download. If any file was downloaded, the source is listed again,
// because files could come from different versions of it.
#include "services/format/source/source_staging.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>

#include "services/base/parallel.h"
#include "services/storage/cache/block_download.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

// Returns true if an ETag has the form of an MD5. The ETag of a multipart upload ("...-3") does not. The ETag of some
// encrypted objects has the form but is not the MD5 of the contents.
bool MayBeMd5(const std::string& tag) {
  return tag.size() == 32 && tag.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> ComputeMd5(const storage::PartialFile& file, uint64_t size_bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr) != 1) {
    return Unimplemented("OpenSSL does not support MD5");
  }
  std::vector<char> chunk(1 << 20);
  for (uint64_t offset = 0; offset < size_bytes;) {
    const size_t wanted = std::min<uint64_t>(chunk.size(), size_bytes - offset);
    const ssize_t got = pread(file.descriptor, chunk.data(), wanted, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return FromErrno(got == 0 ? EIO : errno, "reading " + file.path);
    EVP_DigestUpdate(context.get(), chunk.data(), static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(context.get(), digest, &length);
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
  }
  return hex;
}

// Downloads the files of a source into a cache entry.
class Staging {
 public:
  Staging(const SourceFiles& source, const SourceAccess& access, storage::StoreLocation at,
          std::shared_ptr<storage::CacheEntry> entry)
      : source_(source),
        access_(access),
        deadline_(Deadline::After(access.timeout)),
        at_(std::move(at)),
        entry_(std::move(entry)),
        last_name_(source.uri.substr(source.uri.rfind('/') + 1)) {}

  Result<LocalSource> Run() {
    RETURN_IF_ERROR(StageAll());
    const std::string path = entry_->folder() + "/" + last_name_;
    return LocalSource{.path = path, .pin = entry_};
  }

  bool has_fetched() const { return has_fetched_; }

 private:
  static constexpr uint64_t kSmallBytes = uint64_t{4} << 20;

  // Downloads small files in parallel, then large files one after another, each in parallel ranges.
  Status StageAll() {
    std::vector<const SourceFile*> small, large;
    for (const SourceFile& file : source_.files) (file.size_bytes <= kSmallBytes ? small : large).push_back(&file);
    std::mutex mutex;
    Status first_error;  // guarded by mutex
    std::atomic<bool> failed{false};
    ParallelFor(access_.parallel_requests, static_cast<int64_t>(small.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && !failed; ++i) {
        const Status staged = Stage(*small[static_cast<size_t>(i)], 1);
        if (staged.ok()) continue;
        const std::lock_guard lock(mutex);
        if (first_error.ok()) first_error = staged;
        failed = true;
      }
    });
    RETURN_IF_ERROR(first_error);
    for (const SourceFile* file : large) RETURN_IF_ERROR(Stage(*file, access_.parallel_requests));
    return Status();
  }

  Status Stage(const SourceFile& file, int parallel_requests) {
    if (access_.stop_requested && access_.stop_requested()) return Cancelled("staging " + source_.uri + " was stopped");
    const storage::BlockDownload download = {
        .key = storage::JoinKey(at_.prefix, source_.is_folder ? file.name : last_name_),
        .size_bytes = file.size_bytes,
        .etag = file.tag,
        .block_hashes = {}};
    storage::DownloadOptions options;
    options.parallel_requests = parallel_requests;
    options.deadline = deadline_;
    options.stop_requested = access_.stop_requested;
    // Progress is reported only on the thread of StageSource; small files are downloaded on other threads.
    if (access_.progress && file.size_bytes > kSmallBytes) {
      options.progress = [&](uint64_t present, uint64_t size) { access_.progress(file.name, present, size); };
    }
    storage::CachedFileRequest request = {
        .name = source_.is_folder ? storage::JoinKey(last_name_, file.name) : last_name_,
        .size_bytes = file.size_bytes,
        .journal_bytes = storage::JournalBytes(download),
        .is_good = nullptr,  // files get their names when they are complete and verified
        .fill = [&](const storage::PartialFile& partial) { return Fetch(file, download, partial, options); }};
    request.stop_requested = access_.stop_requested;
    return entry_->GetOrMake(request, deadline_).status();
  }

  Status Fetch(const SourceFile& file, const storage::BlockDownload& download, const storage::PartialFile& partial,
               const storage::DownloadOptions& options) {
    has_fetched_ = true;
    RETURN_IF_ERROR(storage::DownloadBlocks(*at_.store, download, partial, options).status());
    if (MayBeMd5(file.tag)) RETURN_IF_ERROR(CheckMd5(file, download, partial, options));
    return fdatasync(partial.descriptor) == 0 ? Status() : FromErrno(errno, "syncing " + partial.path);
  }

  // Compares the MD5 of a file with the ETag. If they differ, downloads the file again. Accepts the second download if
  // its MD5 equals the ETag (then the first download was damaged) or the MD5 of the first download (then the ETag is
  // not an MD5). Otherwise empties the file and returns DataLoss.
  Status CheckMd5(const SourceFile& file, const storage::BlockDownload& download, storage::PartialFile partial,
                  const storage::DownloadOptions& options) {
    const Result<std::string> first = ComputeMd5(partial, file.size_bytes);
    if (!first.ok() && first.status().code() == StatusCode::kUnimplemented) return Status();
    if (!first.ok() || *first == file.tag) return first.status();
    partial.resumed = false;  // download all blocks again
    RETURN_IF_ERROR(storage::DownloadBlocks(*at_.store, download, partial, options).status());
    ASSIGN_OR_RETURN(const std::string second, ComputeMd5(partial, file.size_bytes));
    if (second == file.tag || second == *first) return Status();
    if (ftruncate(partial.descriptor, 0) != 0) return FromErrno(errno, "emptying " + partial.path);
    return DataLoss(at_.store->Describe() + ": " + download.key + " was downloaded twice, with MD5 " + *first +
                    " and " + second + ": expected " + file.tag);
  }

  const SourceFiles& source_;   // must outlive this object
  const SourceAccess& access_;  // must outlive this object
  const Deadline deadline_;
  const storage::StoreLocation at_;
  const std::shared_ptr<storage::CacheEntry> entry_;
  // The last component of the URI. The copy has it too, because readers take the default name of the graph from it.
  const std::string last_name_;
  std::atomic<bool> has_fetched_{false};  // atomic, because files are fetched in parallel
};

}  // namespace

Result<LocalSource> StageSource(const SourceFiles& source, const SourceAccess& access,
                                const std::function<bool(const std::string& name)>& wanted) {
  if (source.is_local) return LocalSource{.path = source.uri, .pin = nullptr};
  if (access.cache.folder.empty()) {
    return FailedPrecondition(source.uri + " is not local, and no data directory for a copy is set");
  }
  const std::string fingerprint = source.Fingerprint();
  if (fingerprint.empty())
    return Unimplemented(source.uri + ": the store returns no ETags, which show whether an object has changed");
  ASSIGN_OR_RETURN(const storage::LocalCache cache, storage::LocalCache::Open(access.cache));
  ASSIGN_OR_RETURN(auto entry, cache.Pin("sources/" + fingerprint.substr(0, 32), Deadline::After(access.timeout)));
  const std::string store_uri = source.is_folder ? source.uri : source.uri.substr(0, source.uri.rfind('/'));
  ASSIGN_OR_RETURN(storage::StoreLocation at, access.open_store(store_uri));
  Staging staging(source, access, std::move(at), std::move(entry));
  ASSIGN_OR_RETURN(LocalSource local, staging.Run().While("staging " + source.uri));
  if (staging.has_fetched()) {
    ASSIGN_OR_RETURN(const SourceFiles now, FindSource(source.uri, access, wanted));
    if (now.files != source.files) return Aborted(source.uri + " changed while it was copied");
  }
  return local;
}

}  // namespace espalier::format
