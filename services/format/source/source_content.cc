#include "services/format/source/source_content.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "services/base/file.h"
#include "services/format/source/chunked_metadata.h"
#include "services/format/source/graph_description.h"
#include "services/storage/file_uri.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

constexpr size_t kMaxReadDescriptionBytes = size_t{64} << 20;

// Returns the text of the description, or nullopt if it does not exist, is too large or, in a local folder,
// cannot be read.
Result<std::optional<std::string>> ReadDescription(const std::string& uri, const std::string& name,
                                                   const SourceAccess& access) {
  if (storage::IsLocalUri(uri)) {
    ASSIGN_OR_RETURN(const std::string path, storage::ToLocalPath(uri));
    Result<std::string> text = ReadFile((fs::path(path) / name).string(), kMaxReadDescriptionBytes);
    return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
  }
  ASSIGN_OR_RETURN(const storage::StoreLocation at, access.open_store(uri));
  const std::string key = storage::JoinKey(at.prefix, name);
  const Result<storage::ObjectInfo> info = at.store->Head(key);
  if (info.status().code() == StatusCode::kNotFound) return std::optional<std::string>();
  if (!info.ok()) return info.status();
  if (info->size_bytes > kMaxReadDescriptionBytes) return std::optional<std::string>();
  ASSIGN_OR_RETURN(std::string text, at.store->Get(key));
  return std::optional(std::move(text));
}

// Adds the normalized name of a file, because files are listed by normalized names.
void Add(const std::string& file, Names* names) { names->insert(fs::path(file).lexically_normal().generic_string()); }

void Add(const std::optional<ArrayFile>& array, Names* names) {
  if (array) Add(array->file, names);
}

void Add(const std::map<std::string, ArrayFile>& columns, Names* names) {
  for (const auto& [name, array] : columns) Add(array.file, names);
}

Names ListFileNames(const GraphDescription& graph) {
  Names names;
  for (const NodeDescription& nodes : graph.nodes) Add(nodes.columns, &names);
  for (const EdgeDescription& edges : graph.edges) {
    for (const auto* array : {&edges.ids, &edges.sources, &edges.destinations, &edges.original_ids}) {
      Add(*array, &names);
    }
    Add(edges.columns, &names);
  }
  for (const SplitDescription& split : graph.splits) {
    for (const auto* array : {&split.train, &split.validation, &split.test}) Add(*array, &names);
  }
  return names;
}

void Add(const ChunkedArray& array, Names* names) {
  for (const std::string& file : array.files) Add(file, names);
}

Names ListFileNames(const ChunkedMetadata& graph) {
  Names names;
  for (const ChunkedNodes& nodes : graph.nodes) {
    for (const auto& [name, column] : nodes.columns) Add(column, &names);
  }
  for (const ChunkedEdges& edges : graph.edges) {
    Add(edges.ends, &names);
    for (const auto& [name, column] : edges.columns) Add(column, &names);
  }
  return names;
}

// Returns a filter for the file `description` and the files that it lists.
template <class Parse>
Result<FileFilter> MakeDescriptionFilter(const std::string& description, Parse parse, const std::string& uri,
                                         const SourceAccess& access) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadDescription(uri, description, access));
  auto names = std::make_shared<Names>();
  if (text) {
    const auto graph = parse(*text);
    if (graph.ok()) *names = ListFileNames(*graph);
  }
  names->insert(description);
  return FileFilter([names = std::shared_ptr<const Names>(std::move(names))](const std::string& name) {
    return names->contains(name);
  });
}

}  // namespace

Result<FileFilter> MakeGraphFileFilter(SourceFormat format, const std::string& uri, const SourceAccess& access) {
  if (format == SourceFormat::kNpy) return MakeDescriptionFilter(kDescriptionFile, ParseGraphDescription, uri, access);
  if (format == SourceFormat::kDglChunked)
    return MakeDescriptionFilter(kChunkedMetadataFile, ParseChunkedMetadata, uri, access);
  return FileFilter([format](const std::string& name) { return BelongsToSource(format, name); });
}

}  // namespace espalier::format
