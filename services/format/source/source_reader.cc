#include "services/format/source/source_reader.h"

#include "services/format/source/chunked_reader.h"
#include "services/format/source/npy_folder.h"
#include "services/format/source/ogb_reader.h"

namespace espalier::format {
namespace {

// Leaves the triples' graph alone.
SourceNames TakeNames(TripleGraph& triples) {
  SourceNames names;
  names.nodes["entity"] = std::move(triples.entity_names);
  for (size_t t = 0; t < triples.relation_names.size(); ++t) {
    names.relations[triples.graph.schema.edge_types()[t].Name()] = std::move(triples.relation_names[t]);
  }
  return names;
}

// An empty folder: memory.
Result<graph::SourceGraph> ReadUnchecked(const SourceReadOptions& options, const std::string& scratch_folder,
                                         SourceNames* names) {
  switch (options.format) {
    case SourceFormat::kOgb: return ReadOgb(options.path, options.threads, scratch_folder);
    case SourceFormat::kNpy: return ReadNpyFolder(options.path, scratch_folder);
    case SourceFormat::kDglChunked: return ReadChunked(options.path, options.threads, scratch_folder);
    case SourceFormat::kTriples: {
      ASSIGN_OR_RETURN(TripleGraph triples, ReadTriples(options.path, options.triples, scratch_folder));
      if (names != nullptr) *names = TakeNames(triples);
      return std::move(triples.graph);
    }
  }
  return InvalidArgument("source format number " + std::to_string(static_cast<int>(options.format)));
}

}  // namespace

const char* NameOf(SourceFormat format) {
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
  RETURN_IF_ERROR(graph::ValidateSourceGraph(graph, options.threads).While("checking " + options.path));
  return graph;
}

Result<graph::SourceGraph> MapSourceGraph(const SourceReadOptions& options, const std::string& scratch_folder) {
  ESPALIER_CHECK(!scratch_folder.empty()) << "no folder for what is to be mapped";
  return ReadUnchecked(options, scratch_folder, nullptr);
}

}  // namespace espalier::format
