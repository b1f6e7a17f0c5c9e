// A source graph on the command line: where it is, its format, and what is done to it first.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/format/source/source_place.h"
#include "services/graph/preprocess.h"
#include "services/terminal/progress.h"

namespace espalier::cli {

struct SourceFlags {
  std::string path;
  std::string format;  // "OGB", "NPY", "Triples", "DGLChunked"
  bool relation_first = false;
  bool first_appearance = false;
  bool drop_self_loops = false;
  bool add_reverse_edges = false;
  bool drop_duplicate_edges = false;
  bool normalize_features = false;
  // Columns that may lack values (graph/label_columns.h), and which normalize_features leaves as they are, next to
  // "node-label".
  std::vector<std::string> labels;
  graph::HeldOutEdges held_out;  // without a split: none
};

// --format, the order of triples, and the preprocessing flags; the path is the caller's.
CLI::Option* AddSourceFlags(CLI::App* command, SourceFlags* flags);

format::TripleOptions ToTripleOptions(const SourceFlags& flags);
std::optional<graph::HeldOutEdges> ToHeldOutEdges(const SourceFlags& flags);
// From a path or a URI of any scheme; a source that is not local is staged in access.cache. A phase of `progress`.
// `names` and `warnings`, unless null, are as ReadSourceGraph's.
Result<graph::SourceGraph> ReadSource(const SourceFlags& flags, const format::SourceAccess& access, int threads,
                                      terminal::Progress& progress, format::SourceNames* names = nullptr,
                                      std::vector<std::string>* warnings = nullptr);
// `changes`, unless null, gets what was done to the edges.
Result<graph::SourceGraph> PreprocessSource(const SourceFlags& flags, graph::SourceGraph source, int threads,
                                            graph::EdgeChanges* changes = nullptr);
// InvalidArgument names the first of flags.labels that is a column of no node or edge type, whose columns these are.
Status CheckLabels(const SourceFlags& flags, std::span<const std::set<std::string>> node_columns,
                   std::span<const std::set<std::string>> edge_columns);
// Whether edges are to be dropped or added.
bool ChangesEdges(const SourceFlags& flags);

}  // namespace espalier::cli
