// Flags of a source graph and their conversion to the options of the reader and of the preprocessing. Names of formats
// are those of the job document (job::ParseName).
#include "services/cli/source_flags.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "services/base/check.h"
#include "services/job/enum_names.h"
#include "services/job/text/suggestion.h"
#include "services/partitioner/partition_plan.h"

namespace espalier::cli {
namespace {

format::SourceFormat ToFormat(const std::string& name) {
  job::GraphFormat format{};
  ESPALIER_CHECK(job::ParseName(name, &format)) << name;  // the option's check admits only valid names
  return partitioner::ToSourceFormat(format);
}

}  // namespace

CLI::Option* AddSourceFlags(CLI::App* command, SourceFlags* flags) {
  CLI::Option* format =
      command
          ->add_option("--format", flags->format,
                       "OGB (raw CSV or .npz), NPY (folder with graph.yaml), Triples or DGLChunked (folder with "
                       "metadata.json)")
          ->transform(CLI::IsMember({"OGB", "NPY", "Triples", "DGLChunked"}, CLI::ignore_case));
  command->add_flag("--relation-first", flags->relation_first,
                    "Triples: relation, head, tail instead of head, relation, tail");
  command->add_flag("--first-appearance", flags->first_appearance,
                    "Triples: ids by first appearance, not by sorted name");
  command->add_flag("--drop-self-loops", flags->drop_self_loops, "Remove edges from a node to itself");
  command->add_flag("--add-reverse-edges", flags->add_reverse_edges,
                    "Homogeneous graph: symmetrize; otherwise: a reverse relation for each relation");
  command->add_flag("--drop-duplicate-edges", flags->drop_duplicate_edges, "Keep one of parallel edges");
  command->add_flag("--normalize-features", flags->normalize_features,
                    "Divide each node's features by their sum, in floating columns of shape [nodes, D, ...]");
  command
      ->add_option(
          "--feature-dtype", flags->feature_dtype,
          "Data type of floating columns of shape [nodes, D, ...]: Source, F32, F16, BF16 or I8; trainers convert "
          "them to F32")
      ->transform(CLI::IsMember({"Source", "F32", "F16", "BF16", "I8"}, CLI::ignore_case));
  command
      ->add_option(
          "--label", flags->labels,
          "Further label columns, as NAME or NAME,NAME; values may be missing (NaN) in them and in label, "
          "labels, y and *-label; --normalize-features and --feature-dtype leave these NAMEs and node-label as "
          "they are")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option(
      "--hold-out", flags->held_out.split,
      "Split of edges whose validation and test edges are removed from the graph (they stay in the split)");
  command->add_option("--edge-type", flags->held_out.edge_type, "--hold-out: edge type of the split; by default all");
  command->add_option("--reverse-edge-type", flags->held_out.reverse_edge_type,
                      "--hold-out: edge type with the same edges in reverse direction, which are removed with them");
  return format;
}

format::TripleOptions ToTripleOptions(const SourceFlags& flags) {
  format::TripleOptions options;
  if (flags.relation_first) options.columns = format::TripleColumns::kRelationHeadTail;
  if (flags.first_appearance) options.names = format::NameOrder::kFirstAppearance;
  return options;
}

job::FeatureDType ToFeatureDType(const SourceFlags& flags) {
  job::FeatureDType dtype{};
  ESPALIER_CHECK(job::ParseName(flags.feature_dtype, &dtype)) << flags.feature_dtype;  // CLI11 has checked it
  return dtype;
}

std::optional<graph::HeldOutEdges> ToHeldOutEdges(const SourceFlags& flags) {
  if (flags.held_out.split.empty()) return std::nullopt;
  return flags.held_out;
}

Result<graph::SourceGraph> ReadSource(const SourceFlags& flags, const format::SourceAccess& access, int threads,
                                      terminal::Progress& progress, format::SourceNames* names,
                                      std::vector<std::string>* warnings) {
  terminal::MeteredPhase phase(progress, "reading " + flags.path);
  format::SourceReadOptions options;
  options.meter = phase.meter();
  options.format = ToFormat(flags.format);
  ASSIGN_OR_RETURN(format::LocatedSource source, format::FindGraphSource(flags.path, options.format, access));
  ASSIGN_OR_RETURN(options.path, source.Path());
  options.threads = threads;
  options.triples = ToTripleOptions(flags);
  options.labels.labels = flags.labels;
  options.warnings = warnings;
  return format::ReadSourceGraph(options, names);
}

Status CheckLabels(const SourceFlags& flags, std::span<const std::set<std::string>> node_columns,
                   std::span<const std::set<std::string>> edge_columns) {
  std::set<std::string> all;
  for (const auto& of_kind : {node_columns, edge_columns}) {
    for (const std::set<std::string>& columns : of_kind) all.insert(columns.begin(), columns.end());
  }
  for (const std::string& label : flags.labels) {
    if (all.contains(label)) continue;
    const std::string known = absl::StrJoin(all, ", ");
    return InvalidArgument("--label: no node or edge type has a column '" + label + "'" +
                           job::DidYouMean(label, {all.begin(), all.end()}) + "; there " +
                           (known.empty() ? "is none" : "are: " + known));
  }
  return Status();
}

bool ChangesEdges(const SourceFlags& flags) {
  return flags.drop_self_loops || flags.add_reverse_edges || flags.drop_duplicate_edges ||
         ToHeldOutEdges(flags).has_value();
}

Result<graph::SourceGraph> PreprocessSource(const SourceFlags& flags, graph::SourceGraph source, int threads,
                                            graph::EdgeChanges* changes) {
  const auto names_in = [](const auto& sets) {
    std::vector<std::set<std::string>> names;
    for (const auto& set : sets) {
      names.emplace_back();
      for (const auto& [name, column] : set.columns) names.back().insert(name);
    }
    return names;
  };
  RETURN_IF_ERROR(CheckLabels(flags, names_in(source.nodes), names_in(source.edges)));
  graph::PreprocessOptions options;
  options.drop_self_loops = flags.drop_self_loops;
  options.add_reverse_edges = flags.add_reverse_edges;
  options.drop_duplicate_edges = flags.drop_duplicate_edges;
  options.held_out = ToHeldOutEdges(flags);
  options.features = {.normalizes_rows = flags.normalize_features,
                      .dtype = partitioner::ToDType(ToFeatureDType(flags))};
  options.label_columns.insert(options.label_columns.end(), flags.labels.begin(), flags.labels.end());
  return graph::Preprocess(std::move(source), options, threads, changes);
}

}  // namespace espalier::cli
