// A source wherever it lies: found by its URI, digested at most once while it does not change, and brought to this
// host when somebody reads it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "services/format/source/source_staging.h"

namespace espalier::format {

// One thread at a time. What Path answers stays readable while this lives.
class SourcePlace {
 public:
  // `wanted`: which files of a folder belong to the source, by relative name; null: all. NotFound: there is nothing.
  static Result<SourcePlace> Find(const std::string& uri, const SourceAccess& access,
                                  std::function<bool(const std::string& name)> wanted);

  // A local folder or file with the source's bytes.
  Result<std::string> Path();

  // Aborted, with the first file that differs, where a local source is not what it was when it was found: it is read
  // where it lies. (Copies of a store's stay as they are.)
  Status CheckUnchanged() const;

  // `compute`'s answer for Path, 64 hexadecimal digits; what it answered for the same `what` and the same files (by
  // URI, sizes and ETags; on this host by path, sizes, times and inodes) is remembered in the cache's folder.
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

// The files of a graph in options.format at `uri`.
Result<SourcePlace> FindGraphSource(const std::string& uri, SourceFormat format, const SourceAccess& access);

// SourceDigest of `options` for the files at `place`; options.path is not looked at.
Result<std::string> GraphSourceDigest(SourcePlace& place, SourceReadOptions options);

}  // namespace espalier::format
