#include "services/format/source/source_reader.h"

#include <filesystem>

#include "services/format/source/chunked_reader.h"
#include "services/format/source/npy_folder.h"
#include "services/format/source/ogb_reader.h"
#include "services/format/source/source_files.h"

namespace espalier::format {
namespace {

// Moves the names out of `triples`; does not change its graph.
SourceNames TakeNames(TripleGraph& triples) {
  SourceNames names;
  names.nodes["entity"] = std::move(triples.entity_names);
  for (size_t t = 0; t < triples.relation_names.size(); ++t) {
    names.relations[triples.graph.schema.edge_types()[t].Name()] = std::move(triples.relation_names[t]);
  }
  return names;
}

bool IsText(const std::string& name) {
  const std::string unpacked = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  return unpacked.ends_with(".csv") || unpacked.ends_with(".txt");
}

// Adds the size of the text files to the expected work of the meter. Best effort: errors are ignored, because the meter
// only serves to display progress.
void AddExpectedTextBytes(const SourceReadOptions& options) {
  namespace fs = std::filesystem;
  if (options.meter == nullptr) return;
  if (options.format != SourceFormat::kOgb && options.format != SourceFormat::kTriples) return;
  std::error_code error;
  if (!fs::is_directory(options.path, error)) {
    const uintmax_t size_bytes = fs::file_size(options.path, error);
    if (!error) options.meter->Expect(size_bytes);
    return;
  }
  for (fs::recursive_directory_iterator at(options.path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(options.path).generic_string();
    if (!IsText(name) || !BelongsToSource(options.format, name)) continue;
    std::error_code unreadable;
    const uintmax_t size_bytes = at->file_size(unreadable);
    if (!unreadable) options.meter->Expect(size_bytes);
  }
}

// Reads a graph without validation. An empty `scratch_folder` means memory.
Result<graph::SourceGraph> ReadUnchecked(const SourceReadOptions& options, const std::string& scratch_folder,
                                         SourceNames* names) {
  AddExpectedTextBytes(options);
  switch (options.format) {
    case SourceFormat::kOgb: return ReadOgb(options, scratch_folder);
    case SourceFormat::kNpy: return ReadNpyFolder(options.path, scratch_folder);
    case SourceFormat::kDglChunked: return ReadChunked(options, scratch_folder);
    case SourceFormat::kTriples: {
      ASSIGN_OR_RETURN(TripleGraph triples, ReadTriples(options.path, options.triples, scratch_folder, options.meter));
      if (names != nullptr) *names = TakeNames(triples);
      if (options.warnings != nullptr) {
        options.warnings->insert(options.warnings->end(), triples.warnings.begin(), triples.warnings.end());
      }
      return std::move(triples.graph);
    }
  }
  return InvalidArgument("unknown source format " + std::to_string(static_cast<int>(options.format)));
}

}  // namespace

const char* ToString(SourceFormat format) {
  switch (format) {
    case SourceFormat::kOgb: return "OGB";
    case SourceFormat::kNpy: return "NPY";
    case SourceFormat::kTriples: return "Triples";
    case SourceFormat::kDglChunked: return "DGLChunked";
  }
  ESPALIER_CHECK(false) << "source format " << static_cast<int>(format);
  return "";
}

Result<graph::SourceGraph> ReadSourceGraph(const SourceReadOptions& options, SourceNames* names) {
  ASSIGN_OR_RETURN(graph::SourceGraph graph, ReadUnchecked(options, /*scratch_folder=*/"", names));
  RETURN_IF_ERROR(graph::ValidateSourceGraph(graph, options.threads, options.labels).While("checking " + options.path));
  return graph;
}

Result<graph::SourceGraph> MapSourceGraph(const SourceReadOptions& options, const std::string& scratch_folder) {
  ESPALIER_CHECK(!scratch_folder.empty()) << "MapSourceGraph needs a folder for scratch files";
  return ReadUnchecked(options, scratch_folder, nullptr);
}

}  // namespace espalier::format
