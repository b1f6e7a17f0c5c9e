#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "services/base/sha256.h"
#include "services/format/source/chunked_reader.h"
#include "services/format/source/npy_folder.h"
#include "services/format/source/source_content.h"
#include "services/format/source/source_reader.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;

struct LocalFile {
  std::string name;  // relative to the source
  std::string path;
};

Result<std::vector<LocalFile>> ListFiles(const SourceReadOptions& options) {
  std::error_code error;
  if (fs::is_regular_file(options.path, error)) return std::vector<LocalFile>{{"", options.path}};
  ASSIGN_OR_RETURN(const FileFilter is_of_graph, MakeGraphFileFilter(options.format, options.path, SourceAccess()));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFilesBelow(options.path, is_of_graph));
  std::vector<LocalFile> files;
  for (const std::string& name : names) files.push_back({name, options.path + "/" + name});
  if (files.empty())
    return NotFound(options.path + " contains no files of a graph in format " + ToString(options.format));
  return files;
}

// Prefixes a text with its length, so that different lists of texts never give the same bytes.
std::string WithLength(const std::string& text) { return std::to_string(text.size()) + ":" + text; }

Status UpdateWithFile(Sha256& digest, const LocalFile& file) {
  constexpr size_t kReadBytes = 1 << 20;
  std::ifstream stream(file.path, std::ios::binary);
  if (!stream) return NotFound("cannot open " + file.path);
  std::error_code error;
  const uintmax_t size_bytes = fs::file_size(file.path, error);
  if (error) return FromErrno(error.value(), "reading " + file.path);
  digest.Update(WithLength(file.name));
  digest.Update(WithLength(std::to_string(size_bytes)));
  std::vector<char> chunk(kReadBytes);
  uintmax_t seen = 0;
  while (stream) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    digest.Update(std::string_view(chunk.data(), static_cast<size_t>(stream.gcount())));
    seen += static_cast<uintmax_t>(stream.gcount());
  }
  if (stream.bad() || seen != size_bytes)
    return Unavailable(file.path + " could not be read to its end, or has changed");
  return {};
}

// Returns true if a split of the graph may identify edges by row numbers or ids.
bool SplitsMayHaveEdgeIds(const SourceReadOptions& options) {
  switch (options.format) {
    case SourceFormat::kOgb:
    case SourceFormat::kTriples: return false;
    case SourceFormat::kNpy: return NpyFolderSplitsMayHaveEdgeIds(options.path);
    case SourceFormat::kDglChunked: return ChunkedSplitsMayHaveEdgeIds(options.path);
  }
  return false;
}

}  // namespace

std::string DigestedOptions(const SourceReadOptions& options) {
  std::string text = WithLength(ToString(options.format));
  if (options.format == SourceFormat::kTriples) {
    text += WithLength(options.triples.columns == TripleColumns::kHeadRelationTail ? "head relation tail"
                                                                                   : "relation head tail");
    text += WithLength(options.triples.names == NameOrder::kSorted ? "sorted" : "first appearance");
  }
  return text;
}

Result<std::string> SourceDigest(const SourceReadOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<LocalFile> files, ListFiles(options));
  Sha256 digest;
  digest.Update(DigestedOptions(options));
  for (const LocalFile& file : files) RETURN_IF_ERROR(UpdateWithFile(digest, file));
  // Partitionings made by versions that ignored edge ids in splits do not distinguish parallel edges there. For sources
  // with edge ids in splits, this text makes the digest differ from that of such a partitioning, which is then not
  // reused.
  if (SplitsMayHaveEdgeIds(options)) digest.Update(WithLength("splits number edges"));
  return digest.HexDigest();
}

}  // namespace espalier::format
