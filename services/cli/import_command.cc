// espalier import: reads a graph in any supported format, preprocesses it, and writes it as a folder of .npy arrays.
// Later commands then need neither the conversion nor the preprocessing.
#include "services/cli/command.h"
#include "services/cli/graph_summary.h"
#include "services/cli/source_flags.h"
#include "services/cli/unfinished.h"
#include "services/format/source/npy_folder.h"
#include "services/partitioner/stop_watcher.h"
#include "services/partitioner/store_access.h"

namespace espalier::cli {
namespace {

constexpr const char* kImportFooter = R"(Examples:
  espalier import --format OGB services/examples/cora --output cora
  espalier import --format Triples wordnet --add-reverse-edges --output wordnet-npy
  espalier import --format DGLChunked chunks --output graph
  espalier import --format NPY graph --drop-self-loops --normalize-features --output clean)";

struct ImportFlags {
  SourceFlags source;
  std::string output;
  int threads = 1;
  partitioner::CacheFlags cache;
  OutputFlags out;
};

Status Write(const graph::SourceGraph& graph, const std::string& folder, const format::SourceNames& names,
             terminal::Progress& progress) {
  terminal::MeteredPhase phase(progress, "writing " + folder);
  return format::WriteNpyFolder(graph, folder, names, phase.meter());
}

Outcome Import(const ImportFlags& flags) {
  if (ToFeatureDType(flags.source) == job::FeatureDType::kI8) {
    return Fail(
        InvalidArgument("--feature-dtype: I8 needs scales, which a folder of .npy arrays cannot hold: expected Source, "
                        "F32, F16 or BF16; give I8 when the graph is partitioned"));
  }
  const partitioner::StopWatcher stop(std::chrono::milliseconds(0),
                                      [&] { RemoveUnfinished("import", format::UnfinishedNpyFolder(flags.output)); });
  const Result<format::SourceAccess> access = partitioner::MakeSourceAccess(ReadEnvironment(), flags.cache);
  if (!access.ok()) return Fail(ExitCode::kBadDocument, access.status().message());
  terminal::Progress progress(ToProgressStyle(flags.out), stderr);
  const Timer timer;
  format::SourceNames names;
  std::vector<std::string> warnings;
  Result<graph::SourceGraph> read = ReadSource(flags.source, *access, flags.threads, progress, &names, &warnings);
  if (!read.ok()) return FailAt(flags.source.path, read.status(), access->open_store);
  progress.Begin("preprocessing");
  graph::EdgeChanges changes;
  const Result<graph::SourceGraph> graph = PreprocessSource(flags.source, *std::move(read), flags.threads, &changes);
  if (!graph.ok()) return Fail(graph.status());
  const Status written = Write(*graph, flags.output, names, progress);
  if (!written.ok()) return Fail(written);
  progress.End("done in " + terminal::DurationText(timer.Seconds()));
  if (flags.out.json) return Done(SummaryAsJson(*graph, flags.output, &changes, warnings));
  const graph::EdgeChanges* const reported_changes = ChangesEdges(flags.source) ? &changes : nullptr;
  return Done(flags.out.quiet ? "" : SummaryAsText(*graph, flags.output, reported_changes, warnings));
}

}  // namespace

void AddImportCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("import", "Read a graph in any format and write it as .npy arrays");
  auto flags = std::make_shared<ImportFlags>();
  command->footer(kImportFooter);
  command
      ->add_option("source", flags->source.path,
                   "Folder of the graph, or for Triples also a file; a path, file: URI or s3: URI")
      ->required();
  command->add_option("-o,--output", flags->output, "Folder to create; must not exist or must be empty")
      ->transform(partitioner::LocalPath())
      ->required();
  AddSourceFlags(command, &flags->source)->required();
  partitioner::AddCacheFlags(command, &flags->cache);
  AddThreadsFlag(command, &flags->threads);
  AddOutputFlags(command, &flags->out);
  command->callback([=] { *chosen = [flags] { return Import(*flags); }; });
}

}  // namespace espalier::cli
