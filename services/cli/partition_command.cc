// espalier partition: partitions a graph, with the same pipeline as espalier-partitioner.
//
// The flags are converted to the job document's graph section (ToGraph) and checked by the same rules
// (CheckPartitions), so a flag has the same effect as its field. Existing partitions with the same key are
// reused, except with --again. After a signal the pipeline has kStopGrace to remove its incomplete files; then the
// process ends.
#include <optional>

#include "services/cli/command.h"
#include "services/cli/source_flags.h"
#include "services/job/checks/check_rules.h"
#include "services/job/enum_names.h"
#include "services/partitioner/mapping_export.h"
#include "services/partitioner/memory_bound.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/partitioner/report.h"
#include "services/partitioner/stop_watcher.h"
#include "services/partitioner/store_access.h"
#include "services/storage/place_check.h"

namespace espalier::cli {
namespace {

constexpr const char* kPartitionFooter = R"(Examples:
  espalier partition services/examples/cora --format OGB --count 2 --output partitions
  espalier partition graph --format NPY --count 8 --algorithm Streaming --balance Edges --output partitions
  espalier partition graph --format NPY --count 4 --algorithm External --assignment parts --output partitions
  espalier partition chunks --format DGLChunked --count 4 --output partitions

Partitions go to OUTPUT/<key>/, where the key is a hash of the graph and the options: an existing partitioning is reused.)";

constexpr auto kStopGrace = std::chrono::seconds(10);

struct PartitionFlags {
  SourceFlags source;
  std::string output;
  uint32_t count = 2;
  std::string algorithm = "METIS";
  std::string objective = "EdgeCut";
  std::vector<std::string> balance;
  std::string assignment;
  std::string time_column;
  std::vector<std::string> source_columns;
  bool again = false;
  uint64_t seed = 0;
  std::string mappings_folder;
  partitioner::PartitionPipelineOptions pipeline;
  partitioner::CacheFlags cache;
  OutputFlags out;
};

void Declare(CLI::App* command, PartitionFlags* flags) {
  command->footer(kPartitionFooter);
  command
      ->add_option("source", flags->source.path,
                   "Folder of the graph, or for Triples also a file; a path, file: URI or s3: URI")
      ->required();
  AddSourceFlags(command, &flags->source)->required();
  command->add_option("-o,--output", flags->output, "Location of partitionings: path, file: or s3: URI")->required();
  command->add_option("-n,--count", flags->count, "Partitions")->check(CLI::Range(1, 4096))->capture_default_str();
  command->add_option("--algorithm", flags->algorithm, "METIS, Multilevel, Random, Streaming or External")
      ->transform(CLI::IsMember({"METIS", "Multilevel", "Random", "Streaming", "External"}, CLI::ignore_case))
      ->capture_default_str();
  command->add_option("--objective", flags->objective, "METIS: EdgeCut or CommunicationVolume")
      ->transform(CLI::IsMember({"EdgeCut", "CommunicationVolume"}, CLI::ignore_case))
      ->capture_default_str();
  command
      ->add_option("--balance", flags->balance,
                   "What METIS, Multilevel and Streaming balance besides nodes: NodeTypes, TrainNodes, Edges"
                   " (separated by commas)")
      ->transform(CLI::IsMember({"NodeTypes", "TrainNodes", "Edges"}, CLI::ignore_case))
      ->delimiter(',');
  command->add_option("--train-split", flags->pipeline.train_split,
                      "Split whose training nodes are balanced if --balance contains TrainNodes");
  command->add_option("--assignment", flags->assignment,
                      "External: folder with <node type>.npy or .txt of partition numbers");
  command->add_option("--time-column", flags->time_column, "Edge column that orders in-edges");
  command
      ->add_option("--source-columns", flags->source_columns,
                   "Node columns that are copied from source nodes to their out-edges: original_id (for LABOR), masks")
      ->delimiter(',');
  command->add_option("--seed", flags->seed, "Random seed of the algorithm")->capture_default_str();
  command
      ->add_option("--memory", flags->pipeline.memory_bytes,
                   "Memory limit for Streaming, Random and External, e.g. 8GiB; mapped files do not count; 0: no limit")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
  command->add_flag("--again", flags->again, "Partition even if an identical partitioning exists");
  command
      ->add_option("--export-mappings", flags->mappings_folder,
                   "Also write the partition and the global id of each original id as .npy files into this folder")
      ->transform(partitioner::LocalPath());
  partitioner::AddCacheFlags(command, &flags->cache);
  AddThreadsFlag(command, &flags->pipeline.threads);
  AddOutputFlags(command, &flags->out);
}

template <class E>
E Parsed(const std::string& name) {
  E value{};
  ESPALIER_CHECK(job::ParseName(name, &value)) << name;  // the option's check admits only valid names
  return value;
}

job::Graph ToGraph(const PartitionFlags& flags) {
  job::Graph graph;
  graph.source = {flags.source.path, Parsed<job::GraphFormat>(flags.source.format)};
  graph.time_column = flags.time_column;
  graph.partitions.source_columns = flags.source_columns;
  graph.preprocess.drop_self_loops = flags.source.drop_self_loops;
  graph.preprocess.add_reverse_edges = flags.source.add_reverse_edges;
  graph.preprocess.drop_duplicate_edges = flags.source.drop_duplicate_edges;
  if (flags.source.normalize_features) graph.preprocess.normalize_features = job::RowNormalization::kRow;
  graph.preprocess.feature_dtype = ToFeatureDType(flags.source);
  graph.partitions.count = flags.count;
  graph.partitions.algorithm = Parsed<job::PartitionAlgorithm>(flags.algorithm);
  graph.partitions.objective = Parsed<job::PartitionObjective>(flags.objective);
  for (const std::string& name : flags.balance) {
    graph.partitions.balance.push_back(Parsed<job::PartitionBalance>(name));
  }
  graph.partitions.reuse = flags.again ? job::PartitionReuse::kNever : job::PartitionReuse::kIfPresent;
  graph.partitions.assignment_uri = flags.assignment;
  return graph;
}

Status CheckFlags(const PartitionFlags& flags) {
  if ((flags.algorithm == "External") != !flags.assignment.empty()) {
    return InvalidArgument("--algorithm External and --assignment must be given together");
  }
  for (const auto& [field, what] : job::CheckPartitions(ToGraph(flags).partitions)) {
    return InvalidArgument("--" + field + ": " + what);
  }
  if (flags.pipeline.memory_bytes == 0) return {};
  const bool holds_edges_out = ToHeldOutEdges(flags.source).has_value();
  return partitioner::CheckOptionsForMemoryLimit(ToGraph(flags), holds_edges_out, /*in_group=*/false).While("--memory");
}

Outcome Partition(PartitionFlags flags) {
  const Status usage = CheckFlags(flags);
  if (!usage.ok()) return Fail(ExitCode::kBadDocument, usage.message());
  partitioner::StopWatcher stop(kStopGrace);
  Result<format::SourceAccess> access = partitioner::MakeSourceAccess(ReadEnvironment(), flags.cache);
  if (!access.ok()) return Fail(ExitCode::kBadDocument, access.status().message());
  const Result<storage::StoreLocation> output = access->open_store(flags.output);
  if (!output.ok()) return Fail(ExitCode::kBadDocument, output.status().message());
  if (const Status answers = storage::CheckPlace(*output, "partitions"); !answers.ok()) {
    return Fail(ToExitCodeOfPlace(answers.code()), answers.message());
  }
  access->stop_requested = [&] { return stop.requested(); };
  flags.pipeline.access = *access;
  flags.pipeline.triples = ToTripleOptions(flags.source);
  flags.pipeline.held_out = ToHeldOutEdges(flags.source);
  flags.pipeline.label_columns = flags.source.labels;
  flags.pipeline.check_names = [&](const partitioner::GraphMetadata& metadata) {
    return CheckLabels(flags.source, partitioner::ListColumnNames(metadata.node_columns),
                       partitioner::ListColumnNames(metadata.edge_columns));
  };
  flags.pipeline.stop_requested = [&] { return stop.requested(); };
  terminal::Progress progress(ToProgressStyle(flags.out), stderr);
  std::optional<terminal::MeteredPhase> shown;
  flags.pipeline.get_meter = [&](std::string_view phase) {
    shown.reset();
    return shown.emplace(progress, std::string(phase)).meter();
  };
  const Result<partitioner::PartitionOutcome> outcome =
      partitioner::PartitionGraph(ToGraph(flags), flags.seed, flags.output, /*progress=*/nullptr, flags.pipeline);
  shown.reset();
  if (!outcome.ok()) {
    return FailAt(flags.source.path, outcome.status(), access->open_store);
  }
  if (!flags.mappings_folder.empty()) {
    progress.Begin("exporting mappings");
    const Result<storage::StoreLocation> location = access->open_store(outcome->uri);
    if (!location.ok()) return Fail(location.status());
    const Status exported = partitioner::ExportMappings(*location->store, location->prefix, outcome->manifest,
                                                        partitioner::LoadOptionsFor(*access), flags.mappings_folder);
    if (!exported.ok()) return Fail(exported.While("exporting mappings"));
  }
  if (flags.out.json) return Done(partitioner::ReportAsJson(*outcome) + "\n");
  return Done(flags.out.quiet ? "" : partitioner::ReportAsText(*outcome));
}

}  // namespace

void AddPartitionCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("partition", "Cut a graph into partitions");
  auto flags = std::make_shared<PartitionFlags>();
  Declare(command, flags.get());
  command->callback([=] { *chosen = [flags] { return Partition(*flags); }; });
}

}  // namespace espalier::cli
