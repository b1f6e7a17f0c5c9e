// TrainerRun executes the phases of a run on every rank in the same order: open outputs, resume, create learnable rows,
// train, save the models, evaluate the best model, export node and edge results, commit. Rank 0 alone writes to the
// store. While rank 0 writes, the other ranks wait in steps (RunOnSideThread, WorkInSteps), so that no collective
// operation reaches its deadline. An error that only one rank can see is exchanged (AgreeOn), or that rank calls
// Abandon, which makes the collective operations of the other ranks fail.
#include "services/trainer/train_job.h"

#include <algorithm>
#include <array>

#include "services/collective/agreement.h"
#include "services/job/enum_names.h"
#include "services/sampler/batches/audit.h"
#include "services/telemetry/log.h"
#include "services/trainer/checkpoint/checkpoint_fields.h"
#include "services/trainer/data/feature_cache.h"
#include "services/trainer/data/learnable_rows.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/outputs.h"
#include "services/trainer/results/node_results.h"
#include "services/trainer/same_parameters.h"
#include "services/trainer/script_output.h"
#include "services/trainer/training_parts.h"

namespace espalier::trainer {
namespace {

using graph::SplitPartName;

// Timeout for dropping learnable rows after a stop request, when the servers may have ended.
constexpr std::chrono::seconds kDropTimeoutWhenStopped{10};

// Returns whether the learning rate depends on the number of epochs.
bool DependsOnLength(const job::LearningRateSchedule& schedule) {
  return schedule.type == job::ScheduleType::kLinear || schedule.type == job::ScheduleType::kCosine;
}

// One trainer's run. Run executes its phases in order.
class TrainerRun {
 public:
  TrainerRun(const job::DistTraining& job, GraphAccess graph, collective::Collective& collective,
             const TrainOptions& options, Parts parts)
      : job_(job),
        graph_(graph),
        collective_(collective),
        options_(options),
        observer_(options.observer != nullptr ? *options.observer : no_observer_),
        parts_(std::move(parts)),
        phases_([this](RunPhase phase, std::optional<double> fraction) { observer_.OnPhase(phase, fraction); }) {}

  Result<TrainOutcome> Run(sampler::MiniBatchSource& batches) {
    RETURN_IF_ERROR(OpenFiles());
    for (const std::string& warning : options_.warnings) Warn(warning);
    for (const std::string& warning : parts_.warnings) Warn(warning);
    if (parts_.no_metric_reason.empty()) RETURN_IF_ERROR(WarnOfEmptyParts());
    const InferenceOptions inference = {parts_.chunk_nodes, options_.timeouts,
                                        [this] { return CheckEvaluationMayContinue(); }, phases_};
    ASSIGN_OR_RETURN(std::shared_ptr<TaskEvaluation> task,
                     parts_.task->MakeEvaluation(
                         {graph_, parts_.data, collective_, parts_.sampling, inference, options_.scoring_chunk}));
    EvaluationOptions evaluation =
        MakeEvaluationOptions(job_.training, parts_.sampling, inference, options_.incarnation);
    evaluation.on_undefined = [this](SplitPartName part, const std::string& reason) {
      WarnOfUndefinedMetric(part, reason);
    };
    ASSIGN_OR_RETURN(evaluator_,
                     Evaluator::Make(graph_, parts_.data, collective_, std::move(evaluation), std::move(task)));
    RETURN_IF_ERROR(PrepareCheckpoints());
    RETURN_IF_ERROR(MakeLearnableRows());
    RETURN_IF_ERROR(Train(batches));
    RETURN_IF_ERROR(SaveModels());
    // Checked only here, so that a failed write of the history does not prevent saving the models.
    RETURN_IF_ERROR(collective::AgreeOn(history_status_, collective_, options_.timeouts.collective));
    if (!outcome_.stopped()) RETURN_IF_ERROR(EvaluateBest());
    phases_.Begin(RunPhase::kWriting, 0);
    if (learnable_ != nullptr && !outcome_.stopped()) {
      ASSIGN_OR_RETURN(outcome_.rows_digest, learnable_->Digest(collective_));
    }
    if (learnable_ != nullptr) RETURN_IF_ERROR(DropLearnableRows());
    if (checkpoints_ != nullptr) outcome_.checkpoints = checkpoints_->Finish();
    outcome_.total_seconds = timer_.Seconds();
    if (!outcome_.stopped() && outputs_ != nullptr) RETURN_IF_ERROR(CommitOutputs());
    return std::move(outcome_);
  }

 private:
  // Returns Cancelled if a stop was requested during an evaluation between epochs: the training loop then writes a
  // checkpoint of the state before the evaluation. Always returns OK during the final evaluation; after a stop request,
  // that evaluation completes unless the process cancels its RPCs.
  Status CheckEvaluationMayContinue() {
    if (!is_training_) return Status();
    observer_.OnProgress();
    if (options_.stop_requested == nullptr || !options_.stop_requested->load()) return Status();
    return Cancelled("a stop was requested during an evaluation");
  }

  void Warn(const std::string& warning) {
    if (std::count(outcome_.warnings.begin(), outcome_.warnings.end(), warning) > 0) return;
    outcome_.warnings.push_back(warning);
    observer_.OnWarning(warning);
  }

  // Returns the number of nodes or edges of a part of the task's split.
  Result<uint64_t> CountSeeds(SplitPartName part) const { return parts_.task->CountSeeds(parts_.data, graph_, part); }

  Status WarnOfEmptyParts() {
    const job::Metric metric = job_.training.evaluation.metric;
    ASSIGN_OR_RETURN(const uint64_t num_validation, CountSeeds(SplitPartName::kValidation));
    ASSIGN_OR_RETURN(const uint64_t num_test, CountSeeds(SplitPartName::kTest));
    if (num_validation > 0 && num_test > 0) return Status();
    std::string parts, keys;
    for (const auto& [count, part] : {std::pair(num_validation, "validation"), std::pair(num_test, "test")}) {
      if (count > 0) continue;
      parts += (parts.empty() ? "" : " and no ") + std::string(part) + " " + parts_.task->words().seeds;
      keys += (keys.empty() ? "" : " and ") + ResultKey(part, metric);
    }
    const bool keeps_last_model = num_validation == 0 && !OnlyInfers(job_.training);
    Warn("split '" + job_.training.task.split + "' has no " + parts + ", so the results contain null for " + keys +
         (keeps_last_model ? "; the best model is that of the last epoch" : ""));
    return Status();
  }

  // Warns that the metric of a part is undefined, unless the part is empty, which WarnOfEmptyParts has reported.
  void WarnOfUndefinedMetric(SplitPartName part, const std::string& reason) {
    const Result<uint64_t> count = CountSeeds(part);
    if (!count.ok() || *count == 0) return;
    const std::string word = part == SplitPartName::kTest ? "test" : "validation";
    const bool cannot_stop = part == SplitPartName::kValidation && job_.training.evaluation.patience > 0;
    Warn(ResultKey(word, job_.training.evaluation.metric) + " is undefined and null in the results: among the " +
         std::to_string(*count) + " " + word + " " + parts_.task->words().seeds + " of split '" +
         job_.training.task.split + "', " + reason +
         (cannot_stop ? "; early stopping has no effect, and training ends after the last epoch" : ""));
  }

  // Warns that no mini-batch had an edge, unless the sampled relations have no edges, which MakeParts has reported.
  void WarnOfNoEdges() {
    if (CountEdges(parts_.sampling, graph_.neighbors.book()) == 0) return;
    const job::Sampling& sampling = job_.training.sampling;
    std::string to_check = "check the direction of the edges";
    if (!sampling.seed_time.empty()) {
      to_check += "; check that column '" + sampling.seed_time +
                  "' (spec.training.sampling.seedTime) has the unit of spec.graph.timeColumn, because in-edges later "
                  "than their seed are never sampled";
    }
    if (!sampling.draw.weight_column.empty()) {
      to_check += "; check column '" + sampling.draw.weight_column +
                  "' (spec.training.sampling.weight), because in-edges of weight 0 are never sampled";
    }
    if (sampling.seed_time.empty() && sampling.draw.weight_column.empty()) to_check += " and spec.training.sampling";
    Warn("no neighbor was sampled in a whole epoch, so each node was trained without neighbors: " + to_check);
  }

  // Opens the output files before training, so that a folder without write permission is reported immediately.
  Status OpenFiles() {
    Status status;
    if (collective_.rank() == Rank(0) && WritesOutputs()) status = OpenOutputs();
    if (status.ok() && !options_.audit_path.empty()) {
      auto audit = sampler::AuditWriter::Open(options_.audit_path, graph_.schema());
      status = audit.status();
      if (status.ok()) audit_ = *std::move(audit);
    }
    return collective::AgreeOn(status, collective_, options_.timeouts.collective);
  }

  Status MakeLearnableRows() {
    if (!job::HasEmbeddings(job_.training)) return Status();
    if (graph_.embeddings == nullptr) {
      return Unimplemented("the job has learnable rows, but this program's graph does not support them");
    }
    learnable_ = std::make_unique<LearnableRows>(job_.training, graph_.neighbors.book(), *graph_.embeddings,
                                                 graph_.seeds, collective_.rank(), collective_.size(),
                                                 options_.timeouts, [this] { observer_.OnProgress(); });
    parts_.data.SetLearnableRows(*learnable_);
    if (!start_.has_value()) return learnable_->Create(collective_);
    const LoopSnapshot& snapshot = start_->snapshot;
    const uint64_t steps_done = uint64_t{snapshot.epoch} * parts_.steps_per_epoch + snapshot.next_step;
    return learnable_->CreateAt(steps_done, start_->next_rows, collective_);
  }

  // Drops the rows after every rank has finished its reads. A failure is only logged: it must not prevent the results,
  // and the rows disappear with the servers.
  Status DropLearnableRows() {
    RETURN_IF_ERROR(collective::AgreeOn(Status(), collective_, options_.timeouts.collective));
    const Deadline deadline = options_.timeouts.ForData();
    const Status dropped = learnable_->Drop(outcome_.stopped() ? deadline.AtMost(kDropTimeoutWhenStopped) : deadline);
    if (!dropped.ok())
      telemetry::Log(telemetry::Level::kWarning, "learnable rows were not dropped", {{"error", dropped}});
    return Status();
  }

  bool WritesOutputs() const { return options_.output.store != nullptr; }

  Status OpenOutputs() {
    if (options_.chosen_nodes.store != nullptr) {
      auto chosen = ReadChosenNodes(options_.chosen_nodes, graph_.neighbors.book());
      if (!chosen.ok()) return std::move(chosen).status().While("spec.output.nodesUri");
      chosen_nodes_ = *std::move(chosen);
    }
    ASSIGN_OR_RETURN(outputs_, Outputs::Open(options_.output, MakeFacts()));
    return Status();
  }

  RunFacts MakeFacts() const {
    RunFacts facts;
    facts.job = job_;
    facts.graph_name = options_.graph_name;
    facts.math = options_.math;
    facts.num_nodes = graph_.neighbors.book().num_nodes();
    facts.num_edges = graph_.neighbors.book().num_edges();
    facts.num_partitions = graph_.neighbors.book().num_partitions();
    facts.num_trainers = collective_.size();
    facts.num_outputs = parts_.data.num_outputs();
    facts.task = parts_.task->Facts(graph_.schema());
    facts.steps_per_epoch = parts_.steps_per_epoch;
    if (parts_.module != nullptr) facts.module_sha256 = parts_.module->sha256;
    facts.collective = collective_.backend();
    facts.incarnation = options_.incarnation;
    return facts;
  }

  CheckpointFacts MakeCheckpointFacts() const {
    const job::Training& training = job_.training;
    const graph::PartitionBook& book = graph_.neighbors.book();
    CheckpointFacts facts;
    facts.job_name = job_.name;
    facts.incarnation = options_.incarnation;
    facts.seed = training.seed;
    facts.num_epochs = static_cast<uint32_t>(training.epochs);
    facts.schedule_needs_length = DependsOnLength(training.schedule);
    for (const job::Input& input : training.inputs) {
      facts.schedule_needs_length |= input.embedding.has_value() && DependsOnLength(input.embedding->schedule);
    }
    facts.steps_per_epoch = parts_.steps_per_epoch;
    facts.fields =
        ListDecidingFields(job_, {book, parts_.data.seed_type(), parts_.data.num_outputs(), parts_.steps_per_epoch,
                                  parts_.chunk_nodes, parts_.module == nullptr ? "" : parts_.module->sha256,
                                  parts_.task->Facts(book.schema()).checkpoint_fields});
    facts.edge_types = ListEdgeTypeSpellings(book.schema());
    facts.partition_key = options_.partition_key;
    facts.num_partitions = book.num_partitions();
    facts.num_trainers = collective_.size();
    facts.math = options_.math;
    facts.precision = training.precision;
    facts.collective = collective_.backend();
    facts.metric = job::ToString(training.evaluation.metric);
    facts.higher_is_better = HigherIsBetter(training.evaluation.metric);
    return facts;
  }

  // Finds the checkpoint to resume from and creates rank 0's checkpoint writer. The training loop loads the
  // checkpoint's parameters into the model.
  Status PrepareCheckpoints() {
    if (OnlyInfers(job_.training)) return Status();
    const CheckpointFacts facts = MakeCheckpointFacts();
    ASSIGN_OR_RETURN(
        start_, FindResumePoint({options_.checkpoints, options_.resume, options_.resume_from, facts, options_.timeouts},
                                collective_));
    if (start_.has_value()) {
      outcome_.resumed_from = start_->from;
      for (const EpochReport& report : start_->snapshot.epochs) RecordEpoch(report);
    }
    if (collective_.rank() != Rank(0) || options_.checkpoints.store == nullptr) return Status();
    CheckpointWriterOptions writer;
    writer.to = options_.checkpoints;
    writer.settings = job_.checkpoint;
    writer.facts = facts;
    if (start_.has_value()) writer.loaded = start_->loaded;
    if (options_.metrics != nullptr) writer.metrics = CheckpointMetrics(*options_.metrics);
    writer.on_checkpoint = [this](const CheckpointReport& report) {
      history_due_ = true;
      observer_.OnCheckpoint(report);
    };
    checkpoints_ = std::make_unique<CheckpointWriter>(std::move(writer));
    return Status();
  }

  // Appends an epoch to the run's history. If that fails, training continues and the error is returned at the end.
  void RecordEpoch(const EpochReport& report) {
    if (outputs_ == nullptr || !history_status_.ok()) return;
    history_status_ = outputs_->AppendEpoch(report);
    if (history_due_.exchange(false)) outputs_->FlushSoon();
  }

  // Returns the mini-batches to prefetch: all, or those after the checkpoint.
  PrefetchOptions MakePrefetchOptions() const {
    PrefetchOptions prefetch;
    prefetch.num_epochs = static_cast<uint32_t>(job_.training.epochs);
    if (!start_.has_value()) return prefetch;
    const LoopSnapshot& snapshot = start_->snapshot;
    prefetch.first_epoch = snapshot.epoch;
    prefetch.first_step = snapshot.next_step;
    prefetch.num_epochs = snapshot.stopped_early ? 0 : prefetch.num_epochs - snapshot.epoch;
    return prefetch;
  }

  Status Train(sampler::MiniBatchSource& batches) {
    PrefetchOptions prefetch = MakePrefetchOptions();
    if (job_.feature_cache.has_value()) outcome_.feature_cache.emplace();
    std::optional<torch::Device> device_of_rows;
    const bool keeps_rows = !options_.device.is_cpu() || options_.keeps_rows_on_cpu;
    if (keeps_rows && prefetch.num_epochs > 0) device_of_rows = options_.device;
    ASSIGN_OR_RETURN(const FeatureCaches caches, MakeFeatureCaches(job_.feature_cache, graph_, parts_.data,
                                                                   {options_.shared_rows, options_.partition_key},
                                                                   device_of_rows, options_.metrics, &prefetch.cache));
    prefetch.steps_per_epoch = parts_.steps_per_epoch;
    prefetch.data_timeout = options_.timeouts.data;
    prefetch.audit = audit_.get();
    LoopOptions loop;
    loop.training = job_.training;
    loop.loss = parts_.task->MakeLoss(parts_.data);
    loop.steps_per_epoch = parts_.steps_per_epoch;
    loop.relations = ListRelations(parts_.sampling);
    loop.timeouts = options_.timeouts;
    loop.stop_requested = options_.stop_requested;
    loop.observer = &observer_;
    loop.phases = phases_;
    loop.on_no_edges = [this] { WarnOfNoEdges(); };
    loop.start = start_.has_value() ? &start_->snapshot : nullptr;
    loop.snapshots = checkpoints_ != nullptr ? static_cast<SnapshotSink*>(checkpoints_.get()) : &no_snapshots_;
    loop.learnable = learnable_.get();
    loop.on_epoch = [&](const EpochReport& report) {
      RecordEpoch(report);
      observer_.OnEpoch(report);
    };
    {
      BatchPrefetcher prefetcher(batches, parts_.data, prefetch);
      is_training_ = true;
      auto ended = RunTrainingLoop(*parts_.model, parts_.data, prefetcher, *evaluator_, collective_, loop);
      is_training_ = false;
      // Abandons the group before the prefetcher's destructor runs: the destructor may wait for a mini-batch's rows,
      // and the other ranks must not wait for it.
      if (!ended.ok()) collective_.Abandon();
      const bool has_failed_or_stopped = !ended.ok() || ended->end == LoopEnd::kStopRequested;
      if (has_failed_or_stopped) observer_.OnSaved();
      ASSIGN_OR_RETURN(outcome_.loop, std::move(ended));
    }
    if (caches.rows != nullptr) outcome_.feature_cache = caches.rows->counts();
    if (caches.device != nullptr) outcome_.device_rows = caches.device->slots().counts();
    observer_.OnProgress();
    start_.reset();  // frees its tensors
    if (audit_ != nullptr && history_status_.ok()) history_status_ = audit_->Close();
    if (outputs_ != nullptr && history_status_.ok()) history_status_ = outputs_->Flush();
    outcome_.num_outputs = parts_.data.num_outputs();
    return Status();
  }

  // Writes the model files and leaves the kept model (TrainOutcome) in parts_.model. The other ranks wait while rank 0
  // writes, however slow its store is.
  Status SaveModels() {
    const bool saves_model = job::Saves(job_, job::OutputKind::kModel);
    phases_.Begin(RunPhase::kWriting, saves_model ? 2 : 0);  // last and best
    const auto write_as = [this](const std::string& name) {
      return outputs_->WriteModel(name, GetState(*parts_.model));
    };
    RETURN_IF_ERROR(WriteOnSideThread(saves_model, [&] { return write_as("last"); }));
    phases_.Add(1);
    RETURN_IF_ERROR(LoadState(*parts_.model, outcome_.loop.best_state));
    outcome_.loop.best_state.clear();
    outcome_.parameters_digest = DigestParameters(*parts_.model);
    RETURN_IF_ERROR(CheckSameParameters(outcome_.parameters_digest, collective_, options_.timeouts.ForCollective()));
    RETURN_IF_ERROR(WriteOnSideThread(saves_model, [&] { return write_as("best"); }));
    RETURN_IF_ERROR(WriteOnSideThread(SavesTorchScript(job_),
                                      [this] { return WriteTorchScript(job_, graph_.schema(), parts_, *outputs_); }));
    phases_.Add(1);
    return Status();
  }

  // Runs `write` on rank 0, if the run has outputs, while the other ranks wait. Does nothing unless `is_wanted`.
  Status WriteOnSideThread(bool is_wanted, const std::function<Status()>& write) {
    if (!is_wanted) return Status();
    const auto on_root = [&] { return outputs_ == nullptr ? Status() : write(); };
    return collective::RunOnSideThread(Rank(0), on_root, collective_, options_.timeouts.collective);
  }

  // Computes the metrics and writes the node and edge results of the best model in a single pass.
  Status EvaluateBest() {
    const bool measures = parts_.no_metric_reason.empty();
    constexpr std::array kMeasured{SplitPartName::kValidation, SplitPartName::kTest};
    const PassWork work = measures ? PassWork{RunPhase::kEvaluating, evaluator_->CountRows(kMeasured)}
                                   : PassWork{RunPhase::kEmbedding, CountHiddenRowsOfPass()};
    return evaluator_->RunPass(*parts_.model, work, [this, measures]() -> Status {
      if (measures) {
        ASSIGN_OR_RETURN(outcome_.validation, evaluator_->ComputeMetric(*parts_.model, SplitPartName::kValidation));
        ASSIGN_OR_RETURN(outcome_.test, evaluator_->ComputeMetric(*parts_.model, SplitPartName::kTest));
      }
      return WritesOutputs() ? WriteResults() : Status();
    });
  }

  uint64_t CountHiddenRowsOfPass() const {
    return evaluator_->has_full_pass() ? evaluator_->inference().CountHiddenRows() : 0;
  }

  // Writes the requested results for nodes and edges. Runs again if the pass is repeated; the new files then replace
  // the earlier ones.
  Status WriteResults() {
    ResultsPlan plan = parts_.task->PlanResults(job_);
    if (plan.is_empty()) return Status();
    plan.nodes.nodes = chosen_nodes_;
    if (!evaluator_->has_full_pass()) {
      phases_.Begin(RunPhase::kEmbedding, evaluator_->inference().CountHiddenRows());
      RETURN_IF_ERROR(evaluator_->inference().ComputeHidden(*parts_.model, evaluator_->NextTensorPrefix()));
    }
    NodeResultsContext context{graph_,
                               parts_.data,
                               collective_,
                               options_.timeouts,
                               NodeResultAttributes(MakeFacts()),
                               /*store=*/nullptr,
                               {},
                               phases_};
    if (outputs_ != nullptr) {
      context.store = &outputs_->store();
      context.folder = outputs_->folder();
    }
    ASSIGN_OR_RETURN(node_results_, ExportNodeResults(context, *parts_.model, evaluator_->inference(), plan.nodes,
                                                      evaluator_->NextTensorPrefix()));
    if (!plan.edge_predictions) return Status();
    ASSIGN_OR_RETURN(edge_results_, parts_.task->ExportEdgePredictions(context, *parts_.model, evaluator_->inference(),
                                                                       evaluator_->NextTensorPrefix()));
    return Status();
  }

  // Commits the outputs, on rank 0.
  Status CommitOutputs() {
    for (const NodeResultFiles* written : {&node_results_, &edge_results_}) {
      outputs_->AddFiles(written->files);
      for (const auto& [kind, reason] : written->not_written) outputs_->RecordNotWritten(kind, reason);
    }
    NoteScriptNotSaved(job_, graph_.schema(), parts_, *outputs_);
    if (!parts_.no_metric_reason.empty()) outputs_->RecordNotWritten("metrics", parts_.no_metric_reason);
    for (const auto& [kind, reason] : parts_.task->PlanResults(job_).not_written) {
      outputs_->RecordNotWritten(kind, reason);
    }
    return outputs_->Commit(outcome_);
  }

  const job::DistTraining& job_;
  GraphAccess graph_;
  collective::Collective& collective_;
  const TrainOptions& options_;
  TrainingObserver no_observer_;  // used if the caller passes no observer
  TrainingObserver& observer_;
  Parts parts_;
  PhaseTracker phases_;
  Timer timer_;
  bool is_training_ = false;
  std::unique_ptr<Outputs> outputs_;         // null on ranks other than 0 and if the run has no outputs
  std::optional<ChosenNodes> chosen_nodes_;  // on rank 0; nullopt: all nodes
  NodeResultFiles node_results_;             // on rank 0
  NodeResultFiles edge_results_;             // on rank 0
  // Set by each checkpoint: RecordEpoch then also uploads the history. Atomic, because the thread that uploads
  // checkpoints sets it.
  std::atomic<bool> history_due_ = false;
  Status history_status_;  // the first error of writing metrics.jsonl, the event file or the audit record
  std::unique_ptr<sampler::AuditWriter> audit_;
  std::unique_ptr<LearnableRows> learnable_;  // null: the job has no learnable rows
  std::unique_ptr<Evaluator> evaluator_;
  std::optional<ResumePoint> start_;
  std::unique_ptr<CheckpointWriter> checkpoints_;  // on rank 0
  NoSnapshots no_snapshots_;                       // used if checkpoints_ is null
  TrainOutcome outcome_;
};

}  // namespace

Result<TrainOutcome> TrainJob(const job::DistTraining& job, GraphAccess graph, sampler::MiniBatchSource& batches,
                              collective::Collective& collective, const TrainOptions& options) {
  Result<Parts> parts = MakeParts(job, graph, collective, options);
  if (!parts.ok()) {
    collective.Abandon();
    return std::move(parts).status();
  }
  TrainerRun run(job, graph, collective, options, *std::move(parts));
  Result<TrainOutcome> outcome = run.Run(batches);
  // Abandons the group before the destructor of `run`, which may wait for an upload.
  if (!outcome.ok()) collective.Abandon();
  return outcome;
}

}  // namespace espalier::trainer
