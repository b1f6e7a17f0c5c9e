// Flags for a source graph: its location, its format and its preprocessing.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/format/source/located_source.h"
#include "services/graph/preprocess.h"
#include "services/job/dist_training.h"
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
  std::string feature_dtype = "Source";  // a job::FeatureDType
  // Label columns in addition to those that are recognized by their name (graph/label_columns.h). The preprocessing of
  // features leaves these columns and "node-label" unchanged.
  std::vector<std::string> labels;
  graph::HeldOutEdges held_out;  // an empty split: no edges are held out
};

// Adds --format, the flags for triples and the preprocessing flags. Returns the option --format. The caller adds an
// option for the path.
CLI::Option* AddSourceFlags(CLI::App* command, SourceFlags* flags);

format::TripleOptions ToTripleOptions(const SourceFlags& flags);
job::FeatureDType ToFeatureDType(const SourceFlags& flags);
// Returns nullopt if no edges are held out.
std::optional<graph::HeldOutEdges> ToHeldOutEdges(const SourceFlags& flags);
// Reads the graph from a path or a URI of any scheme, as one phase of `progress`. A remote source is first downloaded
// to access.cache. `names` and `warnings`, unless null, receive what ReadSourceGraph returns in them.
Result<graph::SourceGraph> ReadSource(const SourceFlags& flags, const format::SourceAccess& access, int threads,
                                      terminal::Progress& progress, format::SourceNames* names = nullptr,
                                      std::vector<std::string>* warnings = nullptr);
// Preprocesses the graph. NotFound, InvalidArgument: see CheckLabels and graph::Preprocess. `changes`, unless null,
// receives the number of edges that each preprocessing step dropped or added.
Result<graph::SourceGraph> PreprocessSource(const SourceFlags& flags, graph::SourceGraph source, int threads,
                                            graph::EdgeChanges* changes = nullptr);
// Returns InvalidArgument with the first of flags.labels that is not a column of any node or edge type. The spans hold
// the column names of each type.
Status CheckLabels(const SourceFlags& flags, std::span<const std::set<std::string>> node_columns,
                   std::span<const std::set<std::string>> edge_columns);
// Returns whether the preprocessing flags may drop or add edges.
bool ChangesEdges(const SourceFlags& flags);

}  // namespace espalier::cli
