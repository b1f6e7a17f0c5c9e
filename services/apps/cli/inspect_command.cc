// espalier inspect: what a partitioning holds, from its manifest; one node, from its files.
#include <optional>

#include "services/apps/cli/command.h"
#include "services/apps/cli/manifest_report.h"
#include "services/apps/cli/node_report.h"

namespace espalier::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  espalier inspect out/partitions
  espalier inspect out/partitions/3f6c... --json
  espalier inspect out/partitions --node 1708)";

struct Flags {
  std::string uri;
  std::optional<uint64_t> node;
  std::string node_type;
  OutputFlags out;
};

Outcome Inspect(const Flags& flags) {
  const Result<PartitionPlace> place = OpenPartitioning(flags.uri);
  if (!place.ok()) return Fail(place.status());
  if (!flags.node.has_value()) {
    return Done(flags.out.json ? ManifestAsJson(place->manifest, place->uri)
                               : ManifestAsText(place->manifest, place->uri));
  }
  const Result<std::string> report = ReportNode(*place, {flags.node_type, *flags.node, flags.out.json});
  return report.ok() ? Done(*report) : Fail(report.status());
}

}  // namespace

void AddInspectCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("inspect", "Print a partitioning's book, columns, splits and quality");
  auto flags = std::make_shared<Flags>();
  command->footer(kFooter);
  command->add_option("uri", flags->uri, "A partitioning, or a folder that holds one")->required();
  command->add_option("--node", flags->node, "Where this original node id is, and its columns");
  command->add_option("--type", flags->node_type, "The node's type, where there are several");
  AddOutputFlags(command, &flags->out);
  command->callback([=] { *chosen = [flags] { return Inspect(*flags); }; });
}

}  // namespace espalier::cli
