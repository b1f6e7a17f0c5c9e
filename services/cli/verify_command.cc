// espalier verify: verifies the files of a partitioning or of a run's outputs.
//
// The manifest at the URI decides which of the two is verified. For a partitioning, everything that the manifest and
// the format guarantee is recomputed from the files; with --source the files are also compared with the graph,
// which is read and preprocessed first. Violations do not end the verification: the report lists them, and the exit
// code is kBadInput. A signal ends the process at once.
#include <nlohmann/json.hpp>
#include <optional>

#include "services/base/environment.h"
#include "services/cli/command.h"
#include "services/cli/outputs_report.h"
#include "services/cli/partition_place.h"
#include "services/cli/source_flags.h"
#include "services/cli/unfinished.h"
#include "services/format/verify/verify.h"
#include "services/partitioner/stop_watcher.h"
#include "services/partitioner/store_access.h"

namespace espalier::cli {
namespace {

constexpr const char* kVerifyFooter = R"(Examples:
  espalier verify out/partitions
  espalier verify out/partitions --source services/examples/cora --format OGB --normalize-features
  espalier verify runs/cora

With --source, the partitions are compared with the graph edge by edge and row by row. Give the preprocessing flags with
which the graph was partitioned. If there are violations, they are printed, and the exit code is 65.)";

struct VerifyFlags {
  std::string uri;
  SourceFlags source;
  int threads = 1;
  partitioner::CacheFlags cache;
  OutputFlags out;
};

std::string AsJson(const format::VerifyReport& report, const std::string& uri) {
  const nlohmann::ordered_json json = {{"uri", uri},
                                       {"ok", report.ok()},
                                       {"partitions", report.partitions},
                                       {"files", report.files},
                                       {"bytes", report.bytes},
                                       {"nodes", report.nodes},
                                       {"edges", report.edges},
                                       {"columns", report.columns},
                                       {"comparedWithSource", report.compared_with_source},
                                       {"cutEdges", report.quality.cut_edges},
                                       {"replication", report.quality.replication},
                                       {"numViolations", report.num_violations},
                                       {"violations", report.violations}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string AsText(const format::VerifyReport& report, const std::string& uri) {
  std::string text = uri + ": " + (report.ok() ? "the partitions are valid" : "the partitions are INVALID") +
                     "\n  checked " + std::to_string(report.partitions) + " partitions, " +
                     std::to_string(report.files) + " files, " +
                     terminal::CountText(static_cast<double>(report.bytes)) + "B, " + std::to_string(report.nodes) +
                     " nodes, " + std::to_string(report.edges) + " edges, " + std::to_string(report.columns) +
                     " columns" + (report.compared_with_source ? "; compared with the source" : "") + "\n";
  return text;
}

std::string ViolationsText(const format::VerifyReport& report) {
  std::string text =
      std::to_string(report.num_violations) + (report.num_violations == 1 ? " violation" : " violations");
  for (const std::string& violation : report.violations) text += "\n  " + violation;
  if (report.num_violations > report.violations.size()) text += "\n  ...";
  return text;
}

Result<std::optional<graph::SourceGraph>> ReadSource(const VerifyFlags& flags, const format::SourceAccess& access,
                                                     terminal::Progress& progress) {
  if (flags.source.path.empty()) return std::optional<graph::SourceGraph>();
  ASSIGN_OR_RETURN(graph::SourceGraph read, ReadSource(flags.source, access, flags.threads, progress));
  ASSIGN_OR_RETURN(graph::SourceGraph graph, PreprocessSource(flags.source, std::move(read), flags.threads));
  return std::optional(std::move(graph));
}

Result<format::VerifyReport> VerifyWithProgress(const PartitionPlace& place, format::VerifyOptions options,
                                                terminal::Progress& progress) {
  terminal::MeteredPhase phase(progress, "verifying " + place.uri);
  options.meter = phase.meter();
  return format::VerifyPartitioning(*place.store, place.prefix, options);
}

Outcome Verify(const VerifyFlags& flags) {
  const partitioner::StopWatcher stop(std::chrono::milliseconds(0), [] { RemoveUnfinished("verify", ""); });
  if (flags.source.path.empty() != flags.source.format.empty()) {
    return Fail(ExitCode::kBadDocument, "--source and --format must be given together");
  }
  const Result<format::SourceAccess> access = partitioner::MakeSourceAccess(ReadEnvironment(), flags.cache);
  if (!access.ok()) return Fail(ExitCode::kBadDocument, access.status().message());
  const Result<std::optional<OutputsPlace>> outputs = FindOutputs(flags.uri, access->open_store);
  if (!outputs.ok()) return FailAt(flags.uri, outputs.status(), access->open_store);
  if (outputs->has_value() && !flags.source.path.empty()) {
    return Fail(ExitCode::kBadDocument, flags.uri + " has a run's outputs: --source is for partitionings");
  }
  if (outputs->has_value()) return VerifyOutputs(**outputs, flags.out);
  terminal::Progress progress(ToProgressStyle(flags.out), stderr);
  const Result<PartitionPlace> place = OpenPartitioning(flags.uri, access->open_store);
  if (!place.ok()) return FailAt(flags.uri, place.status(), access->open_store);
  const auto source = ReadSource(flags, *access, progress);
  if (!source.ok()) return FailAt(flags.source.path, source.status(), access->open_store);
  format::VerifyOptions options;
  options.source = source->has_value() ? &source->value() : nullptr;
  options.threads = flags.threads;
  options.data_dir = access->cache.folder;
  options.cache_bytes = access->cache.max_bytes;
  const Result<format::VerifyReport> report = VerifyWithProgress(*place, options, progress);
  if (!report.ok()) return Fail(report.status());
  Outcome outcome;
  if (flags.out.json) {
    outcome.output = AsJson(*report, place->uri);
  } else if (!flags.out.quiet) {
    outcome.output = AsText(*report, place->uri);
  }
  if (!report->ok()) {
    outcome.code = ExitCode::kBadInput;
    outcome.error = ViolationsText(*report);
  }
  return outcome;
}

}  // namespace

void AddVerifyCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("verify", "Verify the contents of a partitioning or of a run's outputs");
  auto flags = std::make_shared<VerifyFlags>();
  command->footer(kVerifyFooter);
  command->add_option("uri", flags->uri, "A partitioning, a folder that holds one, or the output of a run")->required();
  command->add_option("--source", flags->source.path, "The graph that was partitioned");
  AddSourceFlags(command, &flags->source);
  partitioner::AddCacheFlags(command, &flags->cache);
  AddThreadsFlag(command, &flags->threads);
  AddOutputFlags(command, &flags->out);
  command->callback([=] { *chosen = [flags] { return Verify(*flags); }; });
}

}  // namespace espalier::cli
