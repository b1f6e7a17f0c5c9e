// The files that a source consists of, on this host or in a store, and what tells whether they have changed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/format/source/source_reader.h"
#include "services/storage/local_cache.h"
#include "services/storage/open_store.h"

namespace espalier::format {

// How sources are reached.
struct SourceAccess {
  storage::StoreOpener open_store = storage::OpenerWith({});
  storage::LocalCacheOptions cache;  // of staged files and of digests; no folder: neither
  int parallel_requests = 8;
  std::chrono::seconds timeout{6 * 3600};  // of all downloads of one source
  // Called about every second of a large file's download, on the calling thread.
  std::function<void(const std::string& file, uint64_t present_bytes, uint64_t size_bytes)> progress;
  std::function<bool()> stop_requested;  // from any thread
  // A local file that was changed less than this ago may change again without its time showing it.
  std::chrono::nanoseconds settling_time{std::chrono::seconds(2)};
};

struct SourceFile {
  std::string name;  // relative to the source; "" where the source is one file
  uint64_t size_bytes = 0;
  // Another after a change of the bytes: a store's ETag, or a local file's inode and times; "" where nobody knows.
  std::string tag;
  std::string state = {};  // of a local file: size and time of the last write, however short ago that is
  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

struct SourceFiles {
  std::string uri;                // where it is local: the absolute path
  bool is_local = false;          // readers can read it where it is
  bool is_folder = false;         // else one file
  std::vector<SourceFile> files;  // sorted by name

  // SHA-256 of uri, names, sizes and tags; "" where a tag is missing. Equal ones mean equal bytes.
  std::string Fingerprint() const;
};

// True for names of files that a graph in this format may be read from, by the name alone.
bool BelongsToSource(SourceFormat format, const std::string& name);

// Names of the files below a local folder for which `wanted` holds (null: all), sorted. Links are followed; what
// vanishes meanwhile is not there.
Result<std::vector<std::string>> FilesBelow(const std::string& folder,
                                            const std::function<bool(const std::string& name)>& wanted);

// `wanted`: which files of a folder count; null: all. NotFound: there is nothing. Reads no file.
Result<SourceFiles> FindSource(const std::string& uri, const SourceAccess& access,
                               const std::function<bool(const std::string& name)>& wanted);

}  // namespace espalier::format
