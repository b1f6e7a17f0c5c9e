// A source on this host or in a store, found by its URI. Its cached digest is used until the source changes. A source
// in a store is copied to this host when it is read.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "services/format/source/source_staging.h"

namespace espalier::format {

// Thread-compatible. The path that Path returns is valid during the lifetime of this object.
class LocatedSource {
 public:
  // Finds the source at `uri`. `wanted` selects files of a folder by relative name (null: all). Returns NotFound if
  // it finds no files.
  static Result<LocatedSource> Find(const std::string& uri, const SourceAccess& access,
                                    std::function<bool(const std::string& name)> wanted);

  // Returns the path of a local folder or file with the content of the source. Copies the source on the first call if
  // it is not local; returns errors of StageSource.
  Result<std::string> Path();

  // Returns Aborted, with the name of the first file that differs, if a local source, which is read in place, has
  // changed since Find. Always OK for a source in a store, whose copies do not change.
  Status CheckUnchanged() const;

  // Returns compute(Path()), a digest of 64 hexadecimal digits, or the same digest from the cache without copying or
  // reading the files. The cache identifies a digest by `what`, which must name the computation and its options, and by
  // SourceFiles::Fingerprint (URI, names, sizes, and ETags or timestamps and inodes). Without a fingerprint, the digest
  // is not cached.
  Result<std::string> Digest(const std::string& what,
                             const std::function<Result<std::string>(const std::string& path)>& compute);

 private:
  LocatedSource(SourceFiles files, SourceAccess access, std::function<bool(const std::string& name)> wanted)
      : files_(std::move(files)), access_(std::move(access)), wanted_(std::move(wanted)) {}

  SourceFiles files_;
  SourceAccess access_;
  std::function<bool(const std::string& name)> wanted_;
  std::optional<LocalSource> local_;
};

// Finds the files of a graph in `format` at `uri`. If there are none, returns NotFound, with a hint if the folder has
// the files of another format.
Result<LocatedSource> FindGraphSource(const std::string& uri, SourceFormat format, const SourceAccess& access);

// Returns SourceDigest for the files of `source`. Ignores options.path.
Result<std::string> GraphSourceDigest(LocatedSource& source, SourceReadOptions options);

}  // namespace espalier::format
