#include "services/apps/partitioning/partition_pipeline.h"

#include "services/apps/partitioning/external_assignment.h"
#include "services/apps/partitioning/local_path.h"
#include "services/apps/partitioning/partition_attempt.h"
#include "services/apps/partitioning/partition_key.h"
#include "services/apps/partitioning/partition_plan.h"
#include "services/apps/partitioning/partition_writer.h"
#include "services/base/clock.h"
#include "services/format/partition_files.h"
#include "services/format/source/source_reader.h"
#include "services/job/enum_names.h"
#include "services/partition/quality.h"
#include "services/telemetry/process_metrics.h"

namespace espalier::partitioning {
namespace {

format::SourceFormat FormatOf(job::GraphFormat format) {
  switch (format) {
    case job::GraphFormat::kOgb: return format::SourceFormat::kOgb;
    case job::GraphFormat::kNpy: return format::SourceFormat::kNpy;
    case job::GraphFormat::kTriples: return format::SourceFormat::kTriples;
  }
  return format::SourceFormat::kOgb;
}

// One run of the pipeline: what its phases share.
class Pipeline {
 public:
  Pipeline(const job::Graph& graph, uint64_t seed, const PartitionProgress& progress,
           const PartitionPipelineOptions& options)
      : graph_(graph),
        progress_(progress),
        options_(options),
        context_{.seed = seed,
                 .train_split = options.train_split,
                 .label_column = options.label_column,
                 .time_column = options.time_column,
                 .threads = options.threads} {}

  Result<PartitionOutcome> Run(const std::string& output_uri) {
    ASSIGN_OR_RETURN(const storage::StoreLocation output, storage::OpenStore(output_uri));
    ASSIGN_OR_RETURN(const std::string key, Key());
    const std::string prefix = output.prefix.empty() ? key : output.prefix + "/" + key;
    const auto outcome = [&](bool reused, format::Manifest manifest) {
      return PartitionOutcome{.uri = output_uri + (output_uri.ends_with('/') ? "" : "/") + key,
                              .partition_key = key,
                              .reused = reused,
                              .manifest = std::move(manifest)};
    };
    ASSIGN_OR_RETURN(std::optional<format::Manifest> existing, FindPartitioning(*output.store, prefix));
    if (existing) return outcome(true, *std::move(existing));

    Result<format::Manifest> made = Make(*output.store, prefix, key);
    if (made.ok()) return outcome(false, *std::move(made));
    if (made.status().code() == StatusCode::kCancelled) return made.status();
    // Whatever went wrong here, the work is done if somebody else has done it meanwhile.
    Result<std::optional<format::Manifest>> winner = FindPartitioning(*output.store, prefix);
    if (winner.ok() && *winner) return outcome(true, **std::move(winner));
    return made.status();
  }

 private:
  Status StartPhase(std::string_view phase) {
    EndPhase();
    phase_ = phase;
    return Advance(0);
  }
  Status Advance(double fraction) {
    if (progress_) progress_(phase_, fraction);
    if (options_.stop_requested && options_.stop_requested()) {
      return Cancelled("asked to stop while " + phase_);
    }
    return Status();
  }
  void EndPhase() {
    if (progress_ && !phase_.empty()) progress_(phase_, 1);
    phase_.clear();
  }

  Result<format::SourceReadOptions> SourceOptions() const {
    ASSIGN_OR_RETURN(std::string path, LocalPathOf(graph_.source.uri));
    return format::SourceReadOptions{.format = FormatOf(graph_.source.format),
                                     .path = std::move(path),
                                     .threads = options_.threads,
                                     .triples = options_.triples};
  }

  Result<std::string> Key() {
    RETURN_IF_ERROR(StartPhase("digesting"));
    ASSIGN_OR_RETURN(const format::SourceReadOptions source, SourceOptions());
    PartitionKeyInput input;
    ASSIGN_OR_RETURN(input.source_digest, format::SourceDigest(source));
    if (graph_.partitions.algorithm == job::PartitionAlgorithm::kExternal) {
      ASSIGN_OR_RETURN(input.assignment_digest, ExternalAssignmentDigest(graph_.partitions.assignment_uri));
    }
    // A nonce makes a place of its own, so that nothing anybody may be reading is replaced.
    if (graph_.partitions.reuse == job::PartitionReuse::kNever) input.nonce = NewAttemptName();
    input.algorithm_version = PartitionerFor(graph_.partitions.algorithm, {})->version();
    EndPhase();
    return PartitionKey(graph_, context_, input);
  }

  Result<graph::SourceGraph> Source() {
    RETURN_IF_ERROR(StartPhase("reading"));
    ASSIGN_OR_RETURN(const format::SourceReadOptions options, SourceOptions());
    ASSIGN_OR_RETURN(graph::SourceGraph source, format::ReadSourceGraph(options));
    RETURN_IF_ERROR(StartPhase("preprocessing"));
    return graph::Preprocess(std::move(source), PreprocessOptionsFor(graph_.preprocess, context_), options_.threads);
  }

  Result<partition::Assignment> Cut(const graph::SourceGraph& source) {
    RETURN_IF_ERROR(StartPhase("cutting"));
    std::vector<Tensor> external;
    if (graph_.partitions.algorithm == job::PartitionAlgorithm::kExternal) {
      ASSIGN_OR_RETURN(external, ReadExternalAssignment(graph_.partitions.assignment_uri, source.schema));
    }
    const auto partitioner = PartitionerFor(graph_.partitions.algorithm, std::move(external));
    return partitioner->Partition(source, PartitionOptionsFor(graph_.partitions, context_));
  }

  Result<format::Quality> Measure(const graph::SourceGraph& source, const partition::Assignment& assignment) {
    RETURN_IF_ERROR(StartPhase("measuring"));
    const partition::PartitionOptions options = PartitionOptionsFor(graph_.partitions, context_);
    ASSIGN_OR_RETURN(partition::Quality quality, partition::QualityOf(source, assignment,
                                                                      {.num_partitions = options.num_partitions,
                                                                       .train_split = options.train_split,
                                                                       .threads = options_.threads}));
    return format::Quality{.cut_edges = quality.cut_edges,
                           .cut_ratio = quality.cut_ratio,
                           .replication = quality.replication,
                           .balance = std::move(quality.balance)};
  }

  Result<format::Manifest> Make(storage::ObjectStore& store, const std::string& prefix, const std::string& key) {
    ASSIGN_OR_RETURN(const graph::SourceGraph source, Source());
    ASSIGN_OR_RETURN(const partition::Assignment assignment, Cut(source));
    ASSIGN_OR_RETURN(format::Quality quality, Measure(source, assignment));

    RETURN_IF_ERROR(StartPhase("writing"));
    const std::string attempt = NewAttemptName();
    AttemptFiles files(store, prefix, attempt);
    const PartitionWriterOptions options{
        .build = {.threads = options_.threads, .time_column = options_.time_column},
        .num_partitions = graph_.partitions.count,
        .before_partition = [&](uint32_t written) { return Advance(double{1} * written / graph_.partitions.count); }};
    ASSIGN_OR_RETURN(format::Manifest manifest, WritePartitions(store, prefix, attempt, source, assignment, options));
    manifest.partition_key = key;
    manifest.algorithm = job::NameOf(graph_.partitions.algorithm);
    manifest.seed = context_.seed;
    manifest.quality = std::move(quality);
    manifest.partition_seconds = timer_.Seconds();
    manifest.peak_memory_bytes = telemetry::PeakResidentBytes();
    RETURN_IF_ERROR(format::CommitManifest(store, prefix, manifest));
    files.Keep();
    DeleteOtherAttempts(store, prefix, attempt);
    EndPhase();
    return manifest;
  }

  const job::Graph& graph_;                  // outlives this
  const PartitionProgress& progress_;        // outlives this
  const PartitionPipelineOptions& options_;  // outlives this
  const PartitionContext context_;
  const Timer timer_;
  std::string phase_;
};

}  // namespace

Result<PartitionOutcome> PartitionGraph(const job::Graph& graph, uint64_t seed, const std::string& output_uri,
                                        const PartitionProgress& progress, const PartitionPipelineOptions& options) {
  return Pipeline(graph, seed, progress, options).Run(output_uri);
}

}  // namespace espalier::partitioning
