// espalier inspect: prints the content of a partitioning or of a run's outputs. It reads only the manifest, and with
// --node also the files of two partitions: the one that maps the node's original id to its global id, and the one that
// owns the node (node_report.h).
#include <optional>

#include "services/base/environment.h"
#include "services/cli/command.h"
#include "services/cli/manifest_report.h"
#include "services/cli/node_report.h"
#include "services/cli/outputs_report.h"
#include "services/partitioner/store_access.h"

namespace espalier::cli {
namespace {

constexpr const char* kInspectFooter = R"(Examples:
  espalier inspect out/partitions
  espalier inspect out/partitions/3f6c... --json
  espalier inspect out/partitions --node 1708
  espalier inspect runs/cora)";

struct InspectFlags {
  std::string uri;
  std::optional<uint64_t> node;
  std::string node_type;
  partitioner::CacheFlags cache;
  bool json = false;
};

Outcome Inspect(const InspectFlags& flags) {
  const Result<format::SourceAccess> access = partitioner::MakeSourceAccess(ReadEnvironment(), flags.cache);
  if (!access.ok()) return Fail(ExitCode::kBadDocument, access.status().message());
  const Result<std::optional<OutputsPlace>> outputs = FindOutputs(flags.uri, access->open_store);
  if (!outputs.ok()) return FailAt(flags.uri, outputs.status(), access->open_store);
  if (outputs->has_value()) return InspectOutputs(**outputs, flags.json);
  const Result<PartitionPlace> place = OpenPartitioning(flags.uri, access->open_store);
  if (!place.ok()) return FailAt(flags.uri, place.status(), access->open_store);
  if (!flags.node.has_value()) {
    return Done(flags.json ? ManifestAsJson(place->manifest, place->uri) : ManifestAsText(place->manifest, place->uri));
  }
  const Result<std::string> report =
      ReportNode(*place, {flags.node_type, *flags.node, flags.json, partitioner::LoadOptionsFor(*access)});
  return report.ok() ? Done(*report) : Fail(report.status());
}

}  // namespace

void AddInspectCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("inspect", "Print the contents of a partitioning or of a run's outputs");
  auto flags = std::make_shared<InspectFlags>();
  command->footer(kInspectFooter);
  command->add_option("uri", flags->uri, "A partitioning, a folder that holds one, or the output of a run")->required();
  command->add_option("--node", flags->node, "Print the partition and the columns of the node with this original id");
  command->add_option("--type", flags->node_type, "The node's type, if the graph has several");
  partitioner::AddCacheFlags(command, &flags->cache);
  AddJsonFlag(command, &flags->json);
  command->callback([=] { *chosen = [flags] { return Inspect(*flags); }; });
}

}  // namespace espalier::cli
