// espalier generate: writes a random graph, generated from a seed, as a folder of .npy arrays.
//
// --shape selects the options of the generator, and each flag that is given overrides one of them (Override). --typed
// uses another generator, for a graph of papers and authors. At SIGINT or SIGTERM, the process removes the incomplete
// folder and ends at once (StopWatcher without a grace period).
#include <optional>

#include "services/cli/command.h"
#include "services/cli/graph_summary.h"
#include "services/cli/unfinished.h"
#include "services/format/source/npy_folder.h"
#include "services/graph/generators.h"
#include "services/partitioner/stop_watcher.h"
#include "services/partitioner/store_access.h"

namespace espalier::cli {
namespace {

constexpr const char* kGenerateFooter = R"(Examples:
  espalier generate --nodes 10000 --edges 100000 --output graph
  espalier generate --shape products --output products        # 2.4 M nodes, 123 M edges
  espalier generate --shape products --nodes 240000 --edges 12300000 --output products-tenth
  espalier generate --typed --nodes 30000 --classes 4 --output typed)";

// The flags. A nullopt keeps the default of the generator's options.
struct GenerateFlags {
  std::string output;
  std::string shape = "small";
  bool typed = false;
  std::optional<std::string> name;
  std::optional<uint64_t> nodes;
  std::optional<uint64_t> edges;
  std::optional<uint64_t> communities;
  std::optional<int64_t> features;
  std::string feature_type = "f32";
  std::optional<double> signal;
  std::optional<int64_t> classes;
  std::optional<double> label_noise;
  std::optional<double> train_fraction;
  std::optional<double> validation_fraction;
  std::optional<double> test_fraction;
  bool edge_weights = false;
  uint64_t seed = 0;
  int threads = 1;
  OutputFlags out;
};

void Declare(CLI::App* command, GenerateFlags* flags) {
  command->footer(kGenerateFooter);
  command->add_option("-o,--output", flags->output, "Folder to create; must not exist or must be empty")
      ->transform(partitioner::LocalPath())
      ->required();
  command
      ->add_option("--shape", flags->shape,
                   "Defaults of the other options: small, or products (the size of ogbn-products)")
      ->check(CLI::IsMember({"small", "products"}))
      ->capture_default_str();
  command->add_flag("--typed", flags->typed,
                    "A graph of papers and authors, whose classes only models that distinguish relations can learn");
  command->add_option("--name", flags->name, "The graph's name");
  command->add_option("--nodes", flags->nodes, "Nodes; with --typed, two thirds are papers and one third authors");
  command->add_option("--edges", flags->edges, "Directed edges");
  command->add_option("--communities", flags->communities, "Planted communities of about equal size");
  command->add_option("--features", flags->features, "Feature width; 0: none");
  command->add_option("--feature-type", flags->feature_type, "f32, f16 or bf16")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  command->add_option("--signal", flags->signal, "How strongly features depend on the class (0: not at all)");
  command->add_option("--classes", flags->classes, "Classes of the labels; 0: no labels");
  command->add_option("--label-noise", flags->label_noise, "Fraction of labels drawn at random");
  command->add_option("--train", flags->train_fraction, "Fraction of training nodes");
  command->add_option("--validation", flags->validation_fraction, "Fraction of validation nodes");
  command->add_option("--test", flags->test_fraction, "Fraction of test nodes");
  command->add_flag("--edge-weights", flags->edge_weights, "An edge column 'weight'");
  command->add_option("--seed", flags->seed, "Random seed of the graph")->capture_default_str();
  AddThreadsFlag(command, &flags->threads);
  AddOutputFlags(command, &flags->out);
}

template <class T>
void Override(const std::optional<T>& given, T* option) {
  if (given.has_value()) *option = *given;
}

DType ToFeatureType(const std::string& name) {
  if (name == "f16") return DType::kF16;
  return name == "bf16" ? DType::kBF16 : DType::kF32;
}

void OverrideShared(const GenerateFlags& flags, graph::FeatureOptions* features, graph::SplitFractions* split) {
  Override(flags.features, &features->width);
  Override(flags.signal, &features->signal);
  features->dtype = ToFeatureType(flags.feature_type);
  Override(flags.train_fraction, &split->train);
  Override(flags.validation_fraction, &split->validation);
  Override(flags.test_fraction, &split->test);
}

Result<graph::SourceGraph> PowerLaw(const GenerateFlags& flags, WorkMeter* meter) {
  graph::PowerLawOptions options = flags.shape == "products" ? graph::ProductsShaped() : graph::PowerLawOptions();
  Override(flags.name, &options.name);
  Override(flags.nodes, &options.num_nodes);
  Override(flags.edges, &options.num_edges);
  Override(flags.classes, &options.num_classes);
  Override(flags.label_noise, &options.label_noise);
  if (flags.communities.has_value()) {
    if (*flags.communities == 0 || *flags.communities > options.num_nodes) {
      return InvalidArgument("--communities: expected 1 to the number of nodes (" + std::to_string(options.num_nodes) +
                             ")");
    }
    options.community_size = options.num_nodes / *flags.communities;
  }
  OverrideShared(flags, &options.features, &options.split);
  options.edge_weights = flags.edge_weights;
  options.seed = flags.seed;
  return graph::GeneratePowerLawGraph(options, flags.threads, meter);
}

Result<graph::SourceGraph> Typed(const GenerateFlags& flags, WorkMeter* meter) {
  if (flags.shape != "small" || flags.communities.has_value() || flags.edge_weights) {
    return InvalidArgument("--typed excludes --shape, --communities and --edge-weights");
  }
  graph::TypedOptions options;
  Override(flags.name, &options.name);
  Override(flags.classes, &options.num_classes);
  Override(flags.label_noise, &options.label_noise);
  if (flags.nodes.has_value()) {
    options.num_authors = *flags.nodes / 3;
    options.num_papers = *flags.nodes - options.num_authors;
  }
  if (flags.edges.has_value()) {
    // For each class there is one relation from papers to papers and one from authors to papers. The option is the mean
    // number of edges of one relation into one paper.
    const double relations = 2.0 * static_cast<double>(options.num_classes);
    options.edges_per_relation =
        static_cast<double>(*flags.edges) / relations / static_cast<double>(options.num_papers);
  }
  OverrideShared(flags, &options.features, &options.split);
  options.seed = flags.seed;
  return graph::GenerateTypedGraph(options, flags.threads, meter);
}

Result<graph::SourceGraph> GenerateGraph(const GenerateFlags& flags, terminal::Progress& progress) {
  terminal::MeteredPhase phase(progress, "generating");
  return flags.typed ? Typed(flags, phase.meter()) : PowerLaw(flags, phase.meter());
}

Status Write(const graph::SourceGraph& graph, const std::string& folder, terminal::Progress& progress) {
  terminal::MeteredPhase phase(progress, "writing " + folder);
  return format::WriteNpyFolder(graph, folder, {}, phase.meter());
}

Outcome Generate(const GenerateFlags& flags) {
  const partitioner::StopWatcher stop(std::chrono::milliseconds(0),
                                      [&] { RemoveUnfinished("generate", format::UnfinishedNpyFolder(flags.output)); });
  terminal::Progress progress(ToProgressStyle(flags.out), stderr);
  const Timer timer;
  const Result<graph::SourceGraph> graph = GenerateGraph(flags, progress);
  // InvalidArgument means that an option is invalid.
  if (!graph.ok()) {
    const bool usage = graph.status().code() == StatusCode::kInvalidArgument;
    return usage ? Fail(ExitCode::kBadDocument, graph.status().message()) : Fail(graph.status());
  }
  const Status written = Write(*graph, flags.output, progress);
  if (!written.ok()) return Fail(written.While("writing " + flags.output));
  progress.End("done in " + terminal::DurationText(timer.Seconds()));
  if (flags.out.json) return Done(SummaryAsJson(*graph, flags.output));
  return Done(flags.out.quiet ? "" : SummaryAsText(*graph, flags.output));
}

}  // namespace

void AddGenerateCommand(CLI::App* app, Command* chosen) {
  CLI::App* command =
      app->add_subcommand("generate", "Generate a graph with power-law degrees and planted communities");
  auto flags = std::make_shared<GenerateFlags>();
  Declare(command, flags.get());
  command->callback([=] { *chosen = [flags] { return Generate(*flags); }; });
}

}  // namespace espalier::cli
