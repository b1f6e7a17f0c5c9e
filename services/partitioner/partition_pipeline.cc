// The key is computed first: if a manifest exists below it, the partitioning is reused. Otherwise the graph is read,
// cut and written below the name of this attempt, and the manifest is created last, only if none exists. Thus several
// attempts may run at the same time, readers never see a partial result, and exactly one attempt wins; the other
// attempts find the winner's manifest and return it. With options.group, the processes share one attempt and coordinate
// through markers in the store (process_group.h); rank 0 commits the manifest.
#include "services/partitioner/partition_pipeline.h"

#include <algorithm>

#include "services/base/clock.h"
#include "services/format/partition/partition_files.h"
#include "services/format/source/located_source.h"
#include "services/format/source/source_reader.h"
#include "services/job/enum_names.h"
#include "services/job/places.h"
#include "services/partition/input_checks.h"
#include "services/partition/quality.h"
#include "services/partitioner/checks/value_facts.h"
#include "services/partitioner/external_assignment.h"
#include "services/partitioner/group/group_partitioning.h"
#include "services/partitioner/held_out_splits.h"
#include "services/partitioner/memory_bound.h"
#include "services/partitioner/partition_attempt.h"
#include "services/partitioner/partition_key.h"
#include "services/partitioner/partition_plan.h"
#include "services/partitioner/partition_writer.h"
#include "services/storage/files/scratch_folder.h"
#include "services/storage/object_key.h"
#include "services/storage/open_store.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process_metrics.h"

namespace espalier::partitioner {
namespace {

// Returns whether a request that failed with this code may have been executed, because perhaps only its response was
// lost.
bool IsAmbiguous(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded || code == StatusCode::kAborted ||
         code == StatusCode::kUnknown;
}

// One run of the pipeline. Members are the state that its phases share.
class Pipeline {
 public:
  Pipeline(const job::Graph& graph, uint64_t seed, const PartitionProgress& progress,
           const PartitionPipelineOptions& options)
      : graph_(graph),
        progress_(progress),
        options_(options),
        context_{.seed = seed,
                 .train_split = options.train_split,
                 .label_columns = options.label_columns,
                 .threads = options.threads,
                 .held_out = options.held_out} {}

  Result<PartitionOutcome> Run(const std::string& output_uri) {
    if (options_.group) {
      RETURN_IF_ERROR(CheckGroup(*options_.group));
      RETURN_IF_ERROR(CheckOptionsForGroup(graph_, context_.held_out.has_value()));
    }
    if (options_.memory_bytes > 0) {
      RETURN_IF_ERROR(CheckOptionsForMemoryLimit(graph_, context_.held_out.has_value(), options_.group.has_value()));
    }
    ASSIGN_OR_RETURN(const storage::StoreLocation output, options_.access.open_store(output_uri));
    ASSIGN_OR_RETURN(const std::string key, ComputeKey());
    const std::string prefix = storage::JoinKey(output.prefix, key);
    PartitionOutcome outcome{
        .uri = job::UriBelow(output_uri, key), .partition_key = key, .reused = false, .manifest = {}};
    const auto reuse = [&](format::Manifest existing) -> Result<PartitionOutcome> {
      warnings_ = existing.warnings;
      const GraphMetadata metadata = CollectMetadata(existing);
      RETURN_IF_ERROR(WithWarnings(CheckNames(metadata)));
      if (options_.check_values) RETURN_IF_ERROR(options_.check_values(metadata));
      DeleteUnused(*output.store, prefix, existing);
      outcome.reused = true;
      outcome.manifest = std::move(existing);
      return std::move(outcome);
    };
    ASSIGN_OR_RETURN(std::optional<format::Manifest> found, FindPartitioning(*output.store, prefix));
    if (found) return reuse(*std::move(found));

    Result<format::Manifest> made =
        options_.group ? MakeInGroup(*output.store, prefix, key) : Make(*output.store, prefix, key);
    if (made.ok()) {
      outcome.manifest = *std::move(made);
      return outcome;
    }
    if (made.status().code() == StatusCode::kCancelled) return made.status();
    // If another process has committed the partitioning meanwhile, the failure of this attempt does not matter.
    Result<std::optional<format::Manifest>> winner = FindPartitioning(*output.store, prefix);
    if (winner.ok() && *winner) return reuse(**std::move(winner));
    return made.status();
  }

 private:
  Status StartPhase(std::string_view phase) {
    EndPhase();
    phase_ = phase;
    meter_ = options_.get_meter ? options_.get_meter(phase) : nullptr;
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
    meter_ = nullptr;
  }

  format::SourceReadOptions SourceOptions() const {
    return {.format = ToSourceFormat(graph_.source.format),
            .path = "",
            .threads = options_.threads,
            .triples = options_.triples,
            .labels = Labels()};
  }

  graph::LabelColumns Labels() const {
    graph::LabelColumns labels{.labels = options_.label_columns, .complete = options_.complete_columns};
    if (!graph_.time_column.empty()) labels.complete.push_back(graph_.time_column);
    return labels;
  }

  // Logs the warnings of a source reader and keeps them for the manifest.
  void WarnOfSource(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      telemetry::Log(telemetry::Level::kWarning, "warning from the source reader", {{"warning", warning}});
    }
    warnings_.insert(warnings_.end(), warnings.begin(), warnings.end());
  }

  bool has_assignment() const { return graph_.partitions.algorithm == job::PartitionAlgorithm::kExternal; }

  Result<std::string> ComputeKey() {
    RETURN_IF_ERROR(StartPhase("digesting"));
    const format::SourceReadOptions source = SourceOptions();
    ASSIGN_OR_RETURN(format::LocatedSource graph_source,
                     format::FindGraphSource(graph_.source.uri, source.format, options_.access));
    source_.emplace(std::move(graph_source));
    PartitionKeyInput input;
    ASSIGN_OR_RETURN(input.source_digest, format::GraphSourceDigest(*source_, source));
    if (has_assignment()) {
      ASSIGN_OR_RETURN(format::LocatedSource assignment,
                       FindExternalAssignment(graph_.partitions.assignment_uri, options_.access));
      assignment_.emplace(std::move(assignment));
      ASSIGN_OR_RETURN(input.assignment_digest, assignment_->Digest("assignment", ExternalAssignmentDigest));
    }
    // A nonce gives the partitioning a new key, so that it replaces no files that another process may be reading.
    if (graph_.partitions.reuse == job::PartitionReuse::kNever) {
      input.nonce = options_.group ? AttemptName(*options_.group) : NewAttemptName();
    }
    input.algorithm_version = MakePartitioner(graph_.partitions.algorithm, {})->version();
    EndPhase();
    return PartitionKey(graph_, context_, input);
  }

  // Returns an error if the source or the user's assignment has changed since the key was computed.
  Status CheckUnchanged() {
    RETURN_IF_ERROR(source_->CheckUnchanged());
    return assignment_ ? assignment_->CheckUnchanged() : Status();
  }

  // Returns OK if there is no memory limit or if the limit suffices.
  Status CheckMemoryLimit(const graph::SourceGraph& source, double largest_to_average) const {
    if (options_.memory_bytes == 0) return {};
    return CheckMemorySuffices(source, {.memory_bytes = options_.memory_bytes,
                                        .algorithm = graph_.partitions.algorithm,
                                        .cut = ToPartitionOptions(graph_.partitions, context_),
                                        .build = MakeBuildOptions(),
                                        .largest_to_average = largest_to_average});
  }

  // Maps the source, checks that the memory suffices, and validates the source.
  Result<graph::SourceGraph> ReadBoundedSource(const format::SourceReadOptions& options) const {
    ASSIGN_OR_RETURN(graph::SourceGraph source, MapSource(options));
    RETURN_IF_ERROR(CheckMemoryLimit(source, partition::kBalancedLargestToAverage));
    RETURN_IF_ERROR(
        graph::ValidateSourceGraph(source, options.threads, options.labels).While("checking " + options.path));
    return source;
  }

  partition::BuildOptions MakeBuildOptions() const {
    return {.threads = options_.threads,
            .time_column = graph_.time_column,
            .source_columns = graph_.partitions.source_columns};
  }

  Result<graph::SourceGraph> ReadSource() {
    RETURN_IF_ERROR(StartPhase("reading"));
    std::vector<std::string> warnings;
    format::SourceReadOptions options = SourceOptions();
    options.warnings = &warnings;
    options.meter = meter_;
    ASSIGN_OR_RETURN(options.path, source_->Path());
    ASSIGN_OR_RETURN(graph::SourceGraph source,
                     options_.memory_bytes > 0 ? ReadBoundedSource(options) : format::ReadSourceGraph(options));
    WarnOfSource(warnings);
    RETURN_IF_ERROR(CheckSource(source, /*reads_values=*/true));
    RETURN_IF_ERROR(partition::CheckNumPartitions(source, graph_.partitions.count));
    RETURN_IF_ERROR(StartPhase("preprocessing"));
    return PreprocessSource(std::move(source));
  }

  Status CheckNames(const GraphMetadata& metadata) {
    const Status known = options_.check_names ? options_.check_names(metadata) : Status();
    has_unknown_names_ = !known.ok();
    return known;
  }
  // Checks the headers of the source. If `reads_values`, also records and checks its values.
  Status CheckSource(const graph::SourceGraph& source, bool reads_values) {
    ASSIGN_OR_RETURN(const GraphMetadata headers, CollectMetadata(source, graph_));
    RETURN_IF_ERROR(WithWarnings(CheckNames(headers)));
    if (!reads_values) return Status();
    const graph::LabelColumns labels = Labels();
    ASSIGN_OR_RETURN(source_metadata_, CollectMetadata(source, graph_, &labels));
    RecordValues(source, {.labels = labels, .preprocess = graph_.preprocess, .threads = options_.threads},
                 &source_metadata_);
    return options_.check_values ? options_.check_values(source_metadata_) : Status();
  }

  // Appends the reader's warnings to an error: a missing name may belong to a file that the reader ignored.
  Status WithWarnings(const Status& checked) const {
    if (checked.ok() || warnings_.empty()) return checked;
    std::string text = checked.message();
    for (const std::string& warning : warnings_) text += "\nwarning: " + warning;
    return Status(checked.code(), text);
  }

  Result<graph::SourceGraph> PreprocessSource(graph::SourceGraph source) {
    graph::PreprocessOptions options = ToPreprocessOptions(graph_.preprocess, context_);
    if (!options.held_out.has_value()) return graph::Preprocess(std::move(source), options, options_.threads);
    const std::string split = options.held_out->split;
    if (!options_.needs_split && !HasSplit(source, *options.held_out, options.add_reverse_edges)) {
      options.held_out.reset();
      context_.held_out.reset();  // omitted from the manifest; the key still depends on the split's name
    }
    const graph::GraphSchema schema = source.schema;
    const uint64_t num_before = CountTrainingPairs(source, split, schema);
    ASSIGN_OR_RETURN(graph::SourceGraph preprocessed, graph::Preprocess(std::move(source), options, options_.threads));
    WarnOfOmittedEdges(split, num_before, CountTrainingPairs(preprocessed, split, schema));
    return preprocessed;
  }

  void WarnOfOmittedEdges(const std::string& split, uint64_t num_before, uint64_t num_after) {
    if (num_after >= num_before) return;
    const uint64_t left_out = num_before - num_after;
    warnings_.push_back("split '" + split + "': " + std::to_string(left_out) + " of " + std::to_string(num_before) +
                        " training edges are left out: they are also validation or test edges, or reverses of these");
    telemetry::Log(telemetry::Level::kWarning, "training edges that are validation or test edges are left out",
                   {{"split", split}, {"left_out", left_out}, {"training_edges", num_after}});
  }

  // Returns the user's assignment for External, and nothing for other algorithms.
  Result<std::vector<Tensor>> ReadAssignment(const graph::SourceGraph& source) {
    if (!has_assignment()) return std::vector<Tensor>();
    ASSIGN_OR_RETURN(const std::string path, assignment_->Path());
    return ReadExternalAssignment(path, source, graph_.partitions.count);
  }

  Result<partition::Assignment> Cut(const graph::SourceGraph& source) {
    RETURN_IF_ERROR(StartPhase("cutting"));
    ASSIGN_OR_RETURN(std::vector<Tensor> external, ReadAssignment(source));
    const auto partitioner = MakePartitioner(graph_.partitions.algorithm, std::move(external));
    partition::PartitionOptions options = ToPartitionOptions(graph_.partitions, context_);
    options.meter = meter_;
    options.memory_bytes = options_.memory_bytes;
    options.make_scratch = [this](uint64_t size_bytes) -> Result<partition::ScratchSpace> {
      ASSIGN_OR_RETURN(const std::string folder, FindScratchFolder());
      return MakeScratchSpace(folder, size_bytes);
    };
    return partitioner->Partition(source, options);
  }

  Result<format::Quality> Measure(const graph::SourceGraph& source, const partition::Assignment& assignment) {
    RETURN_IF_ERROR(StartPhase("measuring"));
    const partition::PartitionOptions options = ToPartitionOptions(graph_.partitions, context_);
    partition::QualityOptions measure{
        .num_partitions = options.num_partitions, .train_split = options.train_split, .threads = options_.threads};
    // The rest of the limit is left for the assignment and the in-degrees, together 8 bytes per node.
    if (options_.memory_bytes > 0) measure.bitmap_bytes = std::min(measure.bitmap_bytes, options_.memory_bytes / 8);
    ASSIGN_OR_RETURN(partition::Quality quality, partition::MeasureQuality(source, assignment, measure));
    return format::Quality{.cut_edges = quality.cut_edges,
                           .cut_ratio = quality.cut_ratio,
                           .replication = quality.replication,
                           .balance = std::move(quality.balance)};
  }

  Result<format::Manifest> Make(storage::ObjectStore& store, const std::string& prefix, const std::string& key) {
    ASSIGN_OR_RETURN(const graph::SourceGraph source, ReadSource());
    // Errors that would prevent writing are reported before the graph is cut.
    RETURN_IF_ERROR(partition::CheckTimeColumn(source, graph_.time_column));
    RETURN_IF_ERROR(partition::CheckSourceColumns(source, graph_.partitions.source_columns));
    ASSIGN_OR_RETURN(const partition::Assignment assignment, Cut(source));
    ASSIGN_OR_RETURN(format::Quality quality, Measure(source, assignment));
    const auto& balance = quality.balance;
    double largest = partition::kBalancedLargestToAverage;
    for (const char* quantity : {"nodes", "edges"}) {
      largest = std::max(largest, balance.contains(quantity) ? balance.at(quantity) : 0);
    }
    RETURN_IF_ERROR(CheckMemoryLimit(source, largest));
    RETURN_IF_ERROR(StartPhase("writing"));
    const std::string attempt = NewAttemptName();
    AttemptFiles files(store, prefix, attempt);
    const PartitionWriterOptions options{
        .build = MakeBuildOptions(),
        .num_partitions = graph_.partitions.count,
        .before_partition = [&](uint32_t written) { return Advance(double{1} * written / graph_.partitions.count); },
        .stop_requested = options_.stop_requested,
        .meter = meter_};
    ASSIGN_OR_RETURN(format::Manifest manifest, WritePartitions(store, prefix, attempt, source, assignment, options));
    if (context_.held_out.has_value()) {
      DescribeHeldOut(*context_.held_out, graph_.preprocess.add_reverse_edges, &manifest);
    }
    RecordProvenance(key, &manifest);
    manifest.quality = std::move(quality);
    manifest.peak_memory_bytes = telemetry::PeakResidentBytes();
    RETURN_IF_ERROR(CheckUnchanged());
    files.Keep();  // a commit that returns an error may have succeeded; Commit calls Discard if it certainly failed
    RETURN_IF_ERROR(Commit(store, prefix, manifest, files));
    DeleteOtherAttempts(store, prefix, attempt);
    EndPhase();
    return manifest;
  }

  // Returns the folder for scratch files: the cache folder or, if there is none, storage::ScratchFolder().
  Result<std::string> FindScratchFolder() const {
    const std::string& cache = options_.access.cache.folder;
    return cache.empty() ? storage::ScratchFolder() : Result<std::string>(cache);
  }

  // Returns the source, mapped and not validated. Its scratch files are in FindScratchFolder().
  Result<graph::SourceGraph> MapSource(const format::SourceReadOptions& options) const {
    ASSIGN_OR_RETURN(const std::string scratch, FindScratchFolder());
    return format::MapSourceGraph(options, scratch);
  }

  Result<format::Manifest> MakeInGroup(storage::ObjectStore& store, const std::string& prefix, const std::string& key) {
    const GroupPlace place{.folder = storage::JoinKey(prefix, AttemptName(*options_.group)) + "/group",
                           .outcome = storage::JoinKey(prefix, "manifest.json")};
    ASSIGN_OR_RETURN(const std::unique_ptr<ProcessGroup> group,
                     ProcessGroup::Join(store, place, *options_.group, options_.stop_requested));
    Result<format::Manifest> made = MakeAsMember(*group, store, prefix, key);
    // Unknown names are not published as the group's failure: every process checks the names and reports unknown ones.
    if (!made.ok() && !has_unknown_names_) group->Fail(made.status());
    return made;
  }

  Result<format::Manifest> MakeAsMember(ProcessGroup& group, storage::ObjectStore& store, const std::string& prefix,
                                        const std::string& key) {
    RETURN_IF_ERROR(StartPhase("reading"));
    format::SourceReadOptions options = SourceOptions();
    ASSIGN_OR_RETURN(options.path, source_->Path());
    std::vector<std::string> warnings;
    options.warnings = &warnings;
    ASSIGN_OR_RETURN(const graph::SourceGraph source, MapSource(options));
    if (group.rank() == 0) WarnOfSource(warnings);
    // Headers are cheap to read, so every process checks them. Rank 0 reads all values for the group.
    RETURN_IF_ERROR(CheckSource(source, /*reads_values=*/group.rank() == 0));
    RETURN_IF_ERROR(partition::CheckNumPartitions(source, graph_.partitions.count));
    const std::string attempt = AttemptName(*options_.group);
    const BundlePlace place{.store = store, .prefix = prefix, .folder = attempt + "/exchange"};
    graph::PreprocessOptions preprocess = ToPreprocessOptions(graph_.preprocess, context_);
    if (preprocess.held_out && !options_.needs_split &&
        !HasSplit(source, *preprocess.held_out, preprocess.add_reverse_edges)) {
      preprocess.held_out.reset();
      context_.held_out.reset();
    }
    GroupWork work{.graph = graph_,
                   .source = source,
                   .labels = Labels(),
                   .preprocess = preprocess,
                   .partition = ToPartitionOptions(graph_.partitions, context_),
                   .writer = {.build = MakeBuildOptions(),
                              .num_partitions = graph_.partitions.count,
                              .before_partition = nullptr,
                              .stop_requested = options_.stop_requested},
                   .assignment = {},
                   .advance = [this](std::string_view phase, double fraction) {
                     return phase == phase_ ? Advance(fraction) : StartPhase(phase);
                   }};
    if (preprocess.held_out && group.rank() == 0) {
      work.on_preprocessed = [&](const graph::SourceGraph& changed) {
        const std::string& split = preprocess.held_out->split;
        WarnOfOmittedEdges(split, CountTrainingPairs(source, split, source.schema),
                           CountTrainingPairs(changed, split, source.schema));
      };
    }
    ASSIGN_OR_RETURN(work.assignment, ReadAssignment(source));
    ASSIGN_OR_RETURN(std::optional<format::Manifest> made, PartitionInGroup(group, place, attempt, std::move(work)));
    if (!made) return AwaitManifest(group, store, prefix);
    if (context_.held_out.has_value()) {
      DescribeHeldOut(*context_.held_out, graph_.preprocess.add_reverse_edges, &*made);
    }
    RecordProvenance(key, &*made);
    if (Status changed = CheckUnchanged(); !changed.ok()) {
      // Keeps the `group` folder of the attempt, through which the other processes learn about the failure.
      DeleteLeftovers(store, storage::JoinKey(prefix, attempt) + "/part-");
      DeleteLeftovers(store, storage::JoinKey(prefix, attempt) + "/exchange/");
      return changed;
    }
    AttemptFiles files(store, prefix, attempt);
    files.Keep();
    RETURN_IF_ERROR(Commit(store, prefix, *made, files));
    // The other processes now wait only for the manifest.
    DeleteExchange(store, prefix, attempt);
    DeleteOtherAttempts(store, prefix, attempt);
    EndPhase();
    return *std::move(made);
  }

  // Waits for the manifest, which rank 0 commits.
  Result<format::Manifest> AwaitManifest(ProcessGroup& group, storage::ObjectStore& store, const std::string& prefix) {
    std::optional<format::Manifest> manifest;
    RETURN_IF_ERROR(group.AwaitCondition(0, "manifest", [&]() -> Result<bool> {
      ASSIGN_OR_RETURN(manifest, FindPartitioning(store, prefix));
      return manifest.has_value();
    }));
    EndPhase();
    return *std::move(manifest);
  }

  // Deletes the bundles and markers of a group. Once the manifest exists, no process waits for them.
  static void DeleteExchange(storage::ObjectStore& store, const std::string& prefix, const std::string& attempt) {
    DeleteLeftovers(store, storage::JoinKey(prefix, attempt) + "/exchange/");
    DeleteLeftovers(store, storage::JoinKey(prefix, attempt) + "/group/");
  }

  // Deletes files that the attempt of `existing` has made unnecessary: those of this process's group if another attempt
  // won, and the bundles and markers that the winning group did not delete before it ended.
  void DeleteUnused(storage::ObjectStore& store, const std::string& prefix, const format::Manifest& existing) const {
    if (options_.group && AttemptName(*options_.group) != existing.attempt) {
      DeleteLeftovers(store, storage::JoinKey(prefix, AttemptName(*options_.group)) + "/");
    }
    const bool is_first = !options_.group || options_.group->rank == 0;
    if (is_first && IsGroupAttempt(existing.attempt)) DeleteExchange(store, prefix, existing.attempt);
  }

  void RecordProvenance(const std::string& key, format::Manifest* manifest) const {
    manifest->partition_key = key;
    manifest->algorithm = job::ToString(graph_.partitions.algorithm);
    manifest->seed = context_.seed;
    manifest->partition_seconds = timer_.Seconds();
    manifest->warnings = warnings_;
    CopyRecordsToManifest(source_metadata_, manifest);
  }

  // Commits the manifest. Aborted if afterwards another attempt's manifest exists, or none. The manifest is read back
  // because a store whose conditional put is not atomic may report success to two attempts, and because a response may
  // be lost.
  static Status Commit(storage::ObjectStore& store, const std::string& prefix, const format::Manifest& manifest,
                       AttemptFiles& files) {
    const Status committed = format::CommitManifest(store, prefix, manifest);
    if (!committed.ok() && committed.code() != StatusCode::kAlreadyExists) {
      if (!IsAmbiguous(committed.code())) files.Discard();
      return committed;
    }
    ASSIGN_OR_RETURN(const std::optional<format::Manifest> existing, FindPartitioning(store, prefix));
    if (existing && existing->attempt == manifest.attempt) return Status();
    if (!existing) return Aborted("the manifest in " + prefix + " was removed after it was committed");
    files.Discard();
    return Aborted("the manifest of another attempt exists in " + prefix);
  }

  const job::Graph& graph_;                  // outlives this
  const PartitionProgress& progress_;        // outlives this
  const PartitionPipelineOptions& options_;  // outlives this
  PartitionContext context_;
  const Timer timer_;
  std::string phase_;
  WorkMeter* meter_ = nullptr;  // of phase_; may be null
  std::vector<std::string> warnings_;
  bool has_unknown_names_ = false;
  GraphMetadata source_metadata_;                    // set after the source has been read
  std::optional<format::LocatedSource> source_;      // set by ComputeKey
  std::optional<format::LocatedSource> assignment_;  // set by ComputeKey for External
};

}  // namespace

Result<PartitionOutcome> PartitionGraph(const job::Graph& graph, uint64_t seed, const std::string& output_uri,
                                        const PartitionProgress& progress, const PartitionPipelineOptions& options) {
  return Pipeline(graph, seed, progress, options).Run(output_uri);
}

}  // namespace espalier::partitioner
