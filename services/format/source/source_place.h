// A source on this host or in a store. It is found by its URI, its digest is cached while it does not change, and it is
// copied to this host when it is read.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "services/format/source/source_staging.h"

namespace espalier::format {

// Thread-compatible. The path that Path returns is valid during the lifetime of this object.
class SourcePlace {
 public:
  // Finds the source at `uri`. `wanted` selects files of a folder by relative name (null: all). Returns NotFound if
  // there are none.
  static Result<SourcePlace> Find(const std::string& uri, const SourceAccess& access,
                                  std::function<bool(const std::string& name)> wanted);

  // Returns the path of a local folder or file with the content of the source. Copies the source on the first call if
  // it is not local; returns errors of StageSource.
  Result<std::string> Path();

  // Returns Aborted, with the name of the first file that differs, if a local source, which is read in place, has
  // changed since Find. Always OK for a source in a store, whose copies do not change.
  Status CheckUnchanged() const;

  // Returns compute(Path()), a digest of 64 hexadecimal digits. The digest is cached under a key of `what`, which
  // names the computation and its options, and SourceFiles::Fingerprint (URI, names, sizes, and ETags or timestamps and
  // inodes). The files are not read or copied if the digest is in the cache.
  Result<std::string> Digest(const std::string& what,
                             const std::function<Result<std::string>(const std::string& path)>& compute);

 private:
  SourcePlace(SourceFiles files, SourceAccess access, std::function<bool(const std::string& name)> wanted)
      : files_(std::move(files)), access_(std::move(access)), wanted_(std::move(wanted)) {}

  SourceFiles files_;
  SourceAccess access_;
  std::function<bool(const std::string& name)> wanted_;
  std::optional<LocalSource> local_;
};

// Finds the files of a graph in `format` at `uri`. If there are none, returns NotFound, with a hint if the folder has
// the files of another format.
Result<SourcePlace> FindGraphSource(const std::string& uri, SourceFormat format, const SourceAccess& access);

// Returns SourceDigest for the files at `place`. Ignores options.path.
Result<std::string> GraphSourceDigest(SourcePlace& place, SourceReadOptions options);

}  // namespace espalier::format
