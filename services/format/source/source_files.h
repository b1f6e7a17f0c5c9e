// Lists the files of a source, on this host or in a store, with tags that change when a file changes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/format/source/source_reader.h"
#include "services/storage/cache/local_cache.h"
#include "services/storage/open_store.h"

namespace espalier::format {

// How sources are accessed.
struct SourceAccess {
  storage::StoreOpener open_store = storage::OpenerWith({});
  // For staged files (source_staging.h) and digests. Without a folder, StageSource fails for sources in stores, and no
  // digest is cached.
  storage::LocalCacheOptions cache;
  int parallel_requests = 8;
  std::chrono::seconds timeout{6 * 3600};  // for all downloads of one source
  // Called on the thread that calls StageSource, about once per second during the download of a large file.
  std::function<void(const std::string& file, uint64_t present_bytes, uint64_t size_bytes)> progress;
  std::function<bool()> stop_requested;  // called from any thread; true: downloads end with Cancelled
  // A local file that was changed more recently than this gets no tag, because a further change may leave its timestamp
  // the same.
  std::chrono::nanoseconds settling_time{std::chrono::seconds(2)};
};

struct SourceFile {
  std::string name;  // relative to the source; "" if the source is one file
  uint64_t size_bytes = 0;
  // Changes when the content changes: the ETag in a store, or device, inode and timestamps of a local file. "" if
  // unknown.
  std::string tag;
  std::string state = {};  // for local files: size and modification time; set also if `tag` is unknown
  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

struct SourceFiles {
  std::string uri;                // the absolute path if the source is local
  bool is_local = false;          // the source is on this host and can be read in place
  bool is_folder = false;         // false: a single file
  std::vector<SourceFile> files;  // sorted by name

  // Returns the SHA-256 of uri, names, sizes and tags, or "" if a tag is unknown. Equal fingerprints that are not ""
  // mean equal content.
  std::string Fingerprint() const;
};

// Returns true if a file of this name can belong to a graph in this format. For NPY and DGLChunked that is every name;
// MakeGraphFileFilter (source_content.h) accepts only graph.yaml or metadata.json and the files that it lists.
bool BelongsToSource(SourceFormat format, const std::string& name);

// Returns the sorted relative names of the files below a local folder. `wanted` selects files by relative name (null:
// all). Follows links. Ignores files that are removed during the call.
Result<std::vector<std::string>> ListFilesBelow(const std::string& folder,
                                                const std::function<bool(const std::string& name)>& wanted);

// Lists the files of the source at `uri` without reading them. `wanted` selects files of a folder by relative name
// (null: all). Returns NotFound if it finds no files.
Result<SourceFiles> FindSource(const std::string& uri, const SourceAccess& access,
                               const std::function<bool(const std::string& name)>& wanted);

}  // namespace espalier::format
