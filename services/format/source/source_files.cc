// The tag of a local file consists of its device, inode and timestamps; the tag of an object in a store is its ETag. A
// local file that was changed less than SourceAccess::settling_time ago gets no tag: timestamps are too coarse to
// detect another change soon after the first. If any file has no tag, the source has no fingerprint, and the digest of
// the source is not cached.
#include "services/format/source/source_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "services/base/sha256.h"
#include "services/base/uri_scheme.h"
#include "services/storage/file_uri.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using Wanted = std::function<bool(const std::string& name)>;

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

Result<SourceFile> Describe(const std::string& name, const std::string& path, const SourceAccess& access) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return FromErrno(errno, "reading the attributes of " + path);
  SourceFile file{.name = name, .size_bytes = static_cast<uint64_t>(about.st_size), .tag = ""};
  // `state` omits the inode, which may change for an unchanged file in a mounted bucket.
  file.state = std::to_string(about.st_size) + "." + std::to_string(Nanoseconds(about.st_mtim));
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t changed = std::max(Nanoseconds(about.st_mtim), Nanoseconds(about.st_ctim));
  if (Nanoseconds(now) - changed < access.settling_time.count()) return file;
  for (const int64_t part : {static_cast<int64_t>(about.st_dev), static_cast<int64_t>(about.st_ino),
                             Nanoseconds(about.st_mtim), Nanoseconds(about.st_ctim)}) {
    file.tag += std::to_string(part) + ".";
  }
  return file;
}

Result<SourceFiles> FindLocal(const std::string& uri, const SourceAccess& access, const Wanted& wanted) {
  ASSIGN_OR_RETURN(const std::string path, storage::ToLocalPath(uri));
  std::error_code error;
  SourceFiles found{.uri = fs::absolute(path, error).lexically_normal().string(), .is_local = true, .files = {}};
  if (!fs::exists(path, error)) return NotFound("there is no file or folder " + path);
  found.is_folder = fs::is_directory(path, error);
  if (!found.is_folder) {
    ASSIGN_OR_RETURN(SourceFile file, Describe("", path, access));
    found.files.push_back(std::move(file));
    return found;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFilesBelow(path, wanted));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(SourceFile file, Describe(name, path + "/" + name, access));
    found.files.push_back(std::move(file));
  }
  return found;
}

std::string WithoutQuotes(std::string etag) {
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) etag = etag.substr(1, etag.size() - 2);
  return etag;
}

Result<SourceFiles> FindFolderInStore(const std::string& uri, const SourceAccess& access, const Wanted& wanted) {
  ASSIGN_OR_RETURN(const storage::StoreLocation at, access.open_store(uri));
  SourceFiles found{.uri = uri, .is_folder = true, .files = {}};
  const std::string below = storage::FolderPrefix(at.prefix);
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects, at.store->List(below));
  for (const storage::ObjectInfo& object : objects) {
    const std::string name = object.key.substr(below.size());
    if (name.empty() || name.ends_with('/')) continue;  // markers of folders, which storage consoles create
    if (wanted && !wanted(name)) continue;
    RETURN_IF_ERROR(storage::CheckKey(name).While(uri));
    found.files.push_back({.name = name, .size_bytes = object.size_bytes, .tag = WithoutQuotes(object.etag)});
  }
  return found;
}

// Finds a source in a store: a folder, or a single object if the folder is empty. Uses the canonical URI, because the
// URI is part of the fingerprint, which is the key of cached digests and copies.
Result<SourceFiles> FindInStore(std::string uri, const SourceAccess& access, const Wanted& wanted) {
  uri = CanonicalUri(std::move(uri));
  while (uri.ends_with('/')) uri.pop_back();
  ASSIGN_OR_RETURN(SourceFiles found, FindFolderInStore(uri, access, wanted));
  const size_t slash = uri.rfind('/');
  const bool has_parent = slash != std::string::npos && slash > uri.find("://") + 2;
  if (!found.files.empty() || !has_parent) return found;
  ASSIGN_OR_RETURN(const storage::StoreLocation parent, access.open_store(uri.substr(0, slash)));
  const Result<storage::ObjectInfo> file = parent.store->Head(storage::JoinKey(parent.prefix, uri.substr(slash + 1)));
  if (!file.ok()) return file.status().code() == StatusCode::kNotFound ? found : Result<SourceFiles>(file.status());
  found.is_folder = false;
  found.files = {{.name = "", .size_bytes = file->size_bytes, .tag = WithoutQuotes(file->etag)}};
  return found;
}

}  // namespace

std::string SourceFiles::Fingerprint() const {
  Sha256 digest;
  const auto update = [&digest](const std::string& text) {
    digest.Update(std::to_string(text.size()) + ":");
    digest.Update(text);
  };
  update(uri);
  for (const SourceFile& file : files) {
    if (file.tag.empty()) return "";
    update(file.name);
    update(std::to_string(file.size_bytes));
    update(file.tag);
  }
  return digest.HexDigest();
}

bool BelongsToSource(SourceFormat format, const std::string& name) {
  const std::string plain = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  switch (format) {
    // Other folders contain files that OGB's Python package derives from these.
    case SourceFormat::kOgb: return name.starts_with("raw/") || name.starts_with("split/");
    case SourceFormat::kTriples: return plain == "train.txt" || plain == "valid.txt" || plain == "test.txt";
    case SourceFormat::kNpy:
    case SourceFormat::kDglChunked: return true;  // the description, which lists the files, is not read here
  }
  return true;
}

Result<std::vector<std::string>> ListFilesBelow(const std::string& folder,
                                                const std::function<bool(const std::string& name)>& wanted) {
  struct Folder {
    fs::path path;
    std::set<fs::path> above;  // the folders on the way to it, with links resolved
  };
  std::vector<std::string> names;
  std::vector<Folder> folders = {{folder, {}}};
  while (!folders.empty()) {  // a recursive iterator would end when a folder is removed
    Folder below = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    const fs::path resolved = fs::canonical(below.path, error);
    if (!error && !below.above.insert(resolved).second) continue;  // a link to a folder above
    fs::directory_iterator at(below.path, error), end;
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) continue;
    for (; !error && at != end; at.increment(error)) {
      std::error_code gone;
      if (at->is_directory(gone)) folders.push_back({at->path(), below.above});
      if (!at->is_regular_file(gone)) continue;
      std::string name = at->path().lexically_relative(folder).generic_string();
      if (!wanted || wanted(name)) names.push_back(std::move(name));
    }
    if (error) return FromErrno(error.value(), "listing " + below.path.string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<SourceFiles> FindSource(const std::string& uri, const SourceAccess& access, const Wanted& wanted) {
  const bool is_local = storage::IsLocalUri(uri);
  ASSIGN_OR_RETURN(SourceFiles found, is_local ? FindLocal(uri, access, wanted) : FindInStore(uri, access, wanted));
  if (found.files.empty()) return NotFound(uri + " contains no files of a graph");
  std::sort(found.files.begin(), found.files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.name < b.name; });
  return found;
}

}  // namespace espalier::format
