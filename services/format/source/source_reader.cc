#include "services/format/source/source_reader.h"

#include "services/format/source/npy_folder.h"
#include "services/format/source/ogb_reader.h"

namespace espalier::format {
namespace {

Result<graph::SourceGraph> ReadUnchecked(const SourceReadOptions& options) {
  switch (options.format) {
    case SourceFormat::kOgb: return ReadOgb(options.path);
    case SourceFormat::kNpy: return ReadNpyFolder(options.path);
    case SourceFormat::kTriples: {
      ASSIGN_OR_RETURN(TripleGraph triples, ReadTriples(options.path, options.triples));
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
  }
  ESPALIER_CHECK(false) << "source format " << static_cast<int>(format);
  return "";
}

Result<graph::SourceGraph> ReadSourceGraph(const SourceReadOptions& options) {
  ASSIGN_OR_RETURN(graph::SourceGraph graph, ReadUnchecked(options));
  RETURN_IF_ERROR(graph::ValidateSourceGraph(graph, options.threads).While("checking " + options.path));
  return graph;
}

}  // namespace espalier::format
