// A LocatedSource keeps the list of files from Find. Path stages the files on first use (source_staging.h). Digest
// looks up the cache by the fingerprint of the list first, so that an unchanged source in a store is neither copied nor
// read. CheckUnchanged lists a local source again and compares sizes and modification times.
#include "services/format/source/located_source.h"

#include <algorithm>
#include <utility>

#include "services/base/sha256.h"
#include "services/format/source/digest_cache.h"
#include "services/format/source/source_content.h"

namespace espalier::format {
namespace {

const char* DescribeExpected(SourceFormat format) {
  switch (format) {
    case SourceFormat::kOgb: return "the folder of a data set of OGB, with raw/ in it";
    case SourceFormat::kNpy: return "a folder with graph.yaml";
    case SourceFormat::kTriples: return "a file of triples, or a folder with train.txt";
    case SourceFormat::kDglChunked: return "a folder with metadata.json";
  }
  return "";
}

// A file that identifies the format of a folder, with the remedy for messages.
struct Marker {
  const char* file;
  const char* remedy;
};
constexpr Marker kMarkers[] = {{"graph.yaml", "read it with the format NPY"},
                               {"metadata.json", "read it with the format DGLChunked"},
                               {"raw/edge.csv", "read it with the format OGB"},
                               {"raw/edge.csv.gz", "read it with the format OGB"},
                               {"raw/data.npz", "read it with the format OGB"},
                               {"raw/triplet-type-list.csv", "read it with the format OGB"},
                               {"raw/triplet-type-list.csv.gz", "read it with the format OGB"},
                               {"raw/edge_index_dict.npz", "read it with the format OGB"},
                               {"train.txt", "read it with the format Triples"},
                               {"train.txt.gz", "read it with the format Triples"},
                               {"metadata.yaml",
                                "this is an OnDiskDataset of DGL's GraphBolt, which is not supported: list its .npy "
                                "files in a graph.yaml (docs/graph-formats.md, \"From GraphBolt's OnDiskDataset\")"}};

// Returns a hint for messages if the folder has another format: "; found metadata.json: read it with the format
// DGLChunked". Returns "" otherwise.
std::string DescribeOtherFormat(const std::string& uri, const SourceAccess& access) {
  const auto is_marker = [](const std::string& name) {
    return std::ranges::any_of(kMarkers, [&](const Marker& marker) { return name == marker.file; });
  };
  const Result<SourceFiles> found = FindSource(uri, access, is_marker);
  if (!found.ok() || !found->is_folder) return "";
  for (const Marker& marker : kMarkers) {
    const auto has_name = [&](const SourceFile& file) { return file.name == marker.file; };
    if (std::ranges::none_of(found->files, has_name)) continue;
    return std::string("; found ") + marker.file + ": " + marker.remedy;
  }
  return "";
}

}  // namespace

Result<LocatedSource> LocatedSource::Find(const std::string& uri, const SourceAccess& access,
                                          std::function<bool(const std::string& name)> wanted) {
  ASSIGN_OR_RETURN(SourceFiles files, FindSource(uri, access, wanted));
  return LocatedSource(std::move(files), access, std::move(wanted));
}

Result<std::string> LocatedSource::Path() {
  if (!local_) {
    ASSIGN_OR_RETURN(LocalSource local, StageSource(files_, access_, wanted_));
    local_.emplace(std::move(local));
  }
  return local_->path;
}

Status LocatedSource::CheckUnchanged() const {
  if (!files_.is_local) return Status();
  const auto changed = [this](const std::string& name) {
    const std::string path = name.empty() ? files_.uri : files_.uri + "/" + name;
    return Aborted(path + " has changed since it was opened: no process may write to a graph while it is read");
  };
  const Result<SourceFiles> now = FindSource(files_.uri, access_, wanted_);
  if (now.status().code() == StatusCode::kNotFound) return changed("");
  if (!now.ok()) return now.status();
  for (size_t i = 0; i < std::max(files_.files.size(), now->files.size()); ++i) {
    if (i == files_.files.size()) return changed(now->files[i].name);
    const SourceFile& before = files_.files[i];
    if (i == now->files.size() || now->files[i].name != before.name) return changed(before.name);
    if (now->files[i].state != before.state) return changed(before.name);
  }
  return Status();
}

Result<std::string> LocatedSource::Digest(const std::string& what,
                                          const std::function<Result<std::string>(const std::string& path)>& compute) {
  const std::string fingerprint = files_.Fingerprint();
  const DigestCache cache(fingerprint.empty() ? "" : access_.cache.folder);
  const std::string key = Sha256Hex(what + "\n" + fingerprint);
  if (std::optional<std::string> known = cache.Find(key)) return *std::move(known);
  ASSIGN_OR_RETURN(const std::string path, Path());
  ASSIGN_OR_RETURN(std::string digest, compute(path));
  cache.Put(key, digest);
  return digest;
}

Result<LocatedSource> FindGraphSource(const std::string& uri, SourceFormat format, const SourceAccess& access) {
  ASSIGN_OR_RETURN(FileFilter is_of_graph, MakeGraphFileFilter(format, uri, access));
  Result<LocatedSource> source = LocatedSource::Find(uri, access, std::move(is_of_graph));
  if (source.ok() || source.status().code() != StatusCode::kNotFound) return source;
  const std::string other = DescribeOtherFormat(uri, access);
  return NotFound(source.status().message() + ": format " + ToString(format) + " expects " + DescribeExpected(format) +
                  (other.empty() ? "; data sets are not downloaded by name" : other));
}

Result<std::string> GraphSourceDigest(LocatedSource& source, SourceReadOptions options) {
  // The cache may contain digests of NPY and DGLChunked graphs by versions that ignored edge ids in splits
  // (SourceDigest). "numbered" makes the keys of these formats differ, so that those digests are not found.
  const bool may_have_edge_ids = options.format == SourceFormat::kNpy || options.format == SourceFormat::kDglChunked;
  const std::string what = (may_have_edge_ids ? "numbered graph " : "graph ") + DigestedOptions(options);
  return source.Digest(what, [&](const std::string& path) {
    options.path = path;
    return SourceDigest(options);
  });
}

}  // namespace espalier::format
