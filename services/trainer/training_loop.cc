// Loop runs epochs of steps; (epoch_, next_step_) is the position, and everything random is a function of it and the
// seed. Before the update, each step sums gradients, loss and flags in one all-reduce, which every rank enters even if
// it has no mini-batch; the summed flags tell all ranks, without further communication, whether to stop, save or fail.
// The position advances only after the update, so that a run resumed from a snapshot between steps has the same
// results. Evaluations and copies of learnable rows need more collective operations; all ranks exchange the statuses of
// these, so that an error has the same effect on all ranks: it ends the loop or only skips a checkpoint.
#include "services/trainer/training_loop.h"

#include <cmath>

#include "services/base/failpoint.h"
#include "services/collective/agreement.h"
#include "services/trainer/early_stopping.h"
#include "services/trainer/evaluation/forward_pass.h"
#include "services/trainer/evaluation/metrics.h"
#include "services/trainer/model/collective_error.h"
#include "services/trainer/model/model_error.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/model/torch_error.h"
#include "services/trainer/optim/flat_gradients.h"

namespace espalier::trainer {
namespace {

// The values that are all-reduced together with the gradients.
enum Extra : size_t { kLoss = 0, kStop = 1, kFailed = 2, kSave = 3, kNumExtras = 4 };

constexpr size_t kMaxBufferBytes = size_t{16} << 20;  // see Loop::keeps_buffers_

size_t CountBytes(const NamedTensors& tensors) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += tensor.nbytes();
  return bytes;
}

// Copies the tensors to the host's memory.
Result<NamedTensors> CopyTensors(const NamedTensors& tensors) {
  try {
    NamedTensors copy;
    for (const auto& [name, tensor] : tensors) copy.emplace_back(name, CopyToHost(tensor));
    return copy;
  } catch (const std::exception& error) {  // for example if memory runs out
    return FromTorchError(error).While("copying tensors");
  }
}

bool HasEdges(const sampler::MiniBatch& batch) {
  for (const sampler::BatchLayer& layer : batch.layers) {
    for (const sampler::Block& block : layer.blocks) {
      if (!block.indices.empty()) return true;
    }
  }
  return false;
}

// Calls OnComputeBegin at construction and OnComputeEnd at destruction.
class ComputeScope {
 public:
  explicit ComputeScope(TrainingObserver& observer) : observer_(observer) { observer_.OnComputeBegin(); }
  ~ComputeScope() { observer_.OnComputeEnd(); }
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  TrainingObserver& observer_;
};

class Loop {
 public:
  Loop(Model& model, const NodeData& data, BatchPrefetcher& batches, Evaluator& evaluator,
       collective::Collective& collective, const LoopOptions& options)
      : model_(model),
        data_(data),
        batches_(batches),
        evaluator_(evaluator),
        collective_(collective),
        options_(options),
        observer_(*options.observer),
        snapshots_(*options.snapshots),
        run_length_{options.steps_per_epoch, options.training.epochs},
        gradients_(GetParameters(model), kNumExtras),
        optimizer_(options.training.optimizer, GetParameters(model)),
        keeps_buffers_(CountBytes(GetBuffers(model)) <= kMaxBufferBytes),
        early_stopping_(HigherIsBetter(options.training.evaluation.metric), options.training.evaluation.patience) {}

  Result<LoopResult> Run() {
    if (options_.start != nullptr) RETURN_IF_ERROR(ResumeFrom(*options_.start));
    while (epoch_ < num_epochs() && result_.end == LoopEnd::kAllEpochs) RETURN_IF_ERROR(RunEpoch());
    if (options_.learnable != nullptr) RETURN_IF_ERROR(options_.learnable->AwaitPushes());
    const uint32_t last = result_.epochs.empty() ? 0 : result_.epochs.back().epoch;
    result_.best_validation = early_stopping_.best_value();
    result_.best_epoch = result_.best_validation.has_value() ? early_stopping_.best_epoch() : last;
    if (!result_.best_validation.has_value() || options_.learnable != nullptr) RETURN_IF_ERROR(KeepBestModel(last));
    return std::move(result_);
  }

 private:
  uint32_t num_epochs() const { return static_cast<uint32_t>(options_.training.epochs); }

  Status ResumeFrom(const LoopSnapshot& start) {
    // The best state is loaded only to check it, so that a mismatch is reported before training.
    const bool has_best = start.best_validation.has_value() && options_.learnable == nullptr;
    if (has_best) RETURN_IF_ERROR(LoadState(model_, start.best).While("the best parameters"));
    RETURN_IF_ERROR(LoadState(model_, start.model));
    RETURN_IF_ERROR(optimizer_.LoadState(start.optimizer));
    epoch_ = start.epoch;
    next_step_ = start.next_step;
    report_ = start.partial;
    loss_sum_ = start.partial.loss;
    result_.end = start.stopped_early ? LoopEnd::kEarlyStopping : LoopEnd::kAllEpochs;
    result_.epochs = start.epochs;
    result_.first_epoch_losses = start.first_epoch_losses;
    early_stopping_.ResumeFrom(start.best_epoch, start.best_validation, start.evaluations_since_best);
    result_.model_epoch = start.best_epoch;
    result_.best_state = start.best;
    if (epoch_ > 0 || next_step_ > 0) observer_.OnResumed(GetLastStep());
    return Status();
  }

  // Returns the last step that the checkpoint contains. There must be one.
  RunPosition GetLastStep() const {
    const bool is_between_epochs = next_step_ == 0;
    return {.epoch = is_between_epochs ? epoch_ - 1 : epoch_,
            .step = (is_between_epochs ? options_.steps_per_epoch : next_step_) - 1,
            .num_epochs = num_epochs(),
            .steps_per_epoch = options_.steps_per_epoch};
  }

  Status RunEpoch() {
    const Timer timer;
    options_.phases.Begin(RunPhase::kTraining, 0);
    if (next_step_ == 0) {
      report_ = EpochReport();
      loss_sum_ = 0;
    }
    report_.epoch = epoch_;
    const double seconds_before = report_.total_seconds;
    bool save_at_end = false;
    while (next_step_ < options_.steps_per_epoch) {
      const SecondsSplit split_before = report_.seconds;
      RETURN_IF_ERROR(RunStep(epoch_, next_step_));
      if (is_rolled_back_) return Stop();
      CountStep(report_.seconds - split_before);
      report_.total_seconds = seconds_before + timer.Seconds();
      if (IsStopping()) return Stop();
      save_at_end = gradients_.extra_values()[kSave] > 0;
      if (save_at_end && next_step_ < options_.steps_per_epoch) Save();
    }
    report_.loss = MeanLoss();
    RETURN_IF_ERROR(ReportMissingEdges());
    if (const Status validated = Validate(); !validated.ok()) {
      // Cancelled: a rank received a stop request during the evaluation, and all ranks return the same status. The
      // checkpoint keeps all steps of the epoch; the resumed run starts with the evaluation.
      return validated.code() == StatusCode::kCancelled ? Stop() : validated;
    }
    report_.total_seconds = seconds_before + timer.Seconds();
    return EndEpoch(save_at_end);
  }

  // Calls on_no_edges if no mini-batch of any rank had an edge in the first epoch of this Loop. Uses a separate
  // all-reduce, because the answer is needed only once.
  Status ReportMissingEdges() {
    // No step has run in this Loop, or the model reads no edges.
    if (!has_edges_.has_value() || options_.relations.empty()) return Status();
    if (std::exchange(has_checked_edges_, true)) return Status();
    float num_with_edges = *has_edges_ ? 1 : 0;
    RETURN_IF_ERROR(collective_.AllReduceSum(std::span(&num_with_edges, 1), options_.timeouts.ForCollective()));
    if (num_with_edges == 0 && options_.on_no_edges) options_.on_no_edges();
    return Status();
  }

  void CountStep(const SecondsSplit& seconds) {
    const double step_loss = gradients_.extra_values()[kLoss];
    if (epoch_ == 0) result_.first_epoch_losses.push_back(step_loss);
    loss_sum_ += step_loss * step_seeds_;
    observer_.OnStep({epoch_, next_step_, num_epochs(), options_.steps_per_epoch, IsStopping(), step_seeds_, seconds});
    ++next_step_;
  }

  double MeanLoss() const { return report_.num_seeds == 0 ? 0 : loss_sum_ / static_cast<double>(report_.num_seeds); }

  Status EndEpoch(bool save) {
    result_.epochs.push_back(report_);
    ++epoch_;
    next_step_ = 0;
    if (options_.on_epoch) options_.on_epoch(report_);
    const bool is_end = epoch_ == num_epochs() || result_.end == LoopEnd::kEarlyStopping;
    if (is_end) {
      options_.phases.Begin(RunPhase::kWriting, 0);
      ASSIGN_OR_RETURN(const bool wants_end, DecideSnapshot(snapshots_.WantsEnd()));
      save = save || wants_end;
      // While a checkpoint is uploaded, the next snapshot can be delayed to a later step. Here no step follows, so all
      // ranks wait until the upload has finished. With learnable rows, TakeSnapshot waits itself.
      if (options_.learnable == nullptr) RETURN_IF_ERROR(WaitForSnapshotSlot());
    }
    if (save) Save();
    return Status();
  }

  bool IsStopping() { return gradients_.extra_values()[kStop] > 0; }

  // Saves the last checkpoint and ends the loop on all ranks. An all-reduce or an exchange of statuses has told all of
  // them to stop. No rank returns before the state is saved.
  Status Stop() {
    result_.end = LoopEnd::kStopRequested;
    options_.phases.Begin(RunPhase::kWriting, 0);
    RETURN_IF_ERROR(collective::AgreeOn(SaveLast(), collective_, options_.timeouts.collective));
    if (next_step_ == 0) return Status();  // the epoch has no steps to report
    report_.loss = MeanLoss();
    result_.epochs.push_back(report_);
    if (options_.on_epoch) options_.on_epoch(report_);
    return Status();
  }

  // Returns whether this rank takes part in a snapshot, where `own` is the rank's own decision. With learnable rows,
  // all ranks take part if rank 0 does, so rank 0 broadcasts its decision.
  Result<bool> DecideSnapshot(bool own) {
    if (options_.learnable == nullptr) return own;
    std::byte flag{static_cast<unsigned char>(own ? 1 : 0)};
    RETURN_IF_ERROR(collective_.Broadcast(std::span(&flag, 1), Rank(0), options_.timeouts.ForCollective()));
    return flag != std::byte{0};
  }

  // Takes a snapshot and passes it to the sink. With learnable rows, every rank must call it: ranks that save no
  // snapshots take part in copying the rows. Without learnable rows, those ranks have nothing to do.
  void Save() {
    Result<LoopSnapshot> snapshot = TakeSnapshot();
    if (!snapshot.ok()) return snapshots_.CannotSave(snapshot.status());
    snapshots_.Save(*std::move(snapshot));
  }

  // Takes and saves the last snapshot before the run stops.
  Status SaveLast() {
    // Called before TakeSnapshot, because with learnable rows TakeSnapshot waits until no older snapshot is being
    // saved.
    snapshots_.Expedite();
    ASSIGN_OR_RETURN(const bool is_wanted, DecideSnapshot(snapshots_.saves()));
    Result<LoopSnapshot> snapshot = is_wanted ? TakeSnapshot() : LoopSnapshot();
    observer_.OnStopped();
    if (!snapshot.ok()) snapshots_.CannotSave(snapshot.status());
    if (!is_wanted || !snapshot.ok()) return snapshot.status();
    return snapshots_.SaveLast(*std::move(snapshot));
  }

  // Blocks all ranks until rank 0 has finished the previous checkpoint and freed its learnable rows, if it has any.
  Status WaitForSnapshotSlot() {
    const auto wait = [this]() -> Result<bool> {
      observer_.OnProgress();
      return !snapshots_.WaitForSnapshotSlot(Deadline::After(std::chrono::seconds(1)));
    };
    return collective::WorkInSteps(Rank(0), wait, collective_, options_.timeouts.collective);
  }

  // Passes learnable rows to the sink, then copies the loop's other state in memory. Ranks that save no snapshots
  // return an empty one.
  Result<LoopSnapshot> TakeSnapshot() {
    LoopSnapshot snapshot;
    if (options_.learnable != nullptr) RETURN_IF_ERROR(WaitForSnapshotSlot());
    const Timer timer;
    if (options_.learnable != nullptr) {
      const auto take = [this](const format::Safetensors& piece) {
        return snapshots_.TakeRows(epoch_, next_step_, piece, Deadline::After(std::chrono::seconds(1)));
      };
      RETURN_IF_ERROR(options_.learnable->Save(take, collective_));
    }
    if (!snapshots_.saves()) return snapshot;
    snapshot.epoch = epoch_;
    snapshot.next_step = next_step_;
    snapshot.stopped_early = result_.end == LoopEnd::kEarlyStopping;
    snapshot.epochs = result_.epochs;
    if (next_step_ > 0) {
      snapshot.partial = report_;
      snapshot.partial.loss = loss_sum_;
    } else {
      snapshot.validation = result_.epochs.empty() ? std::nullopt : result_.epochs.back().validation;
    }
    snapshot.first_epoch_losses = result_.first_epoch_losses;
    snapshot.best_epoch = early_stopping_.best_epoch();
    snapshot.best_validation = early_stopping_.best_value();
    snapshot.evaluations_since_best = early_stopping_.evaluations_since_best();
    ASSIGN_OR_RETURN(snapshot.model, CopyTensors(GetState(model_)));
    snapshot.best = result_.best_state;  // shared: it is never modified
    ASSIGN_OR_RETURN(snapshot.optimizer, CopyOptimizerState());
    snapshot.seconds = timer.Seconds();
    return snapshot;
  }

  Result<NamedTensors> CopyOptimizerState() const {
    try {
      return optimizer_.State();
    } catch (const std::exception& error) {  // for example if memory runs out
      return FromTorchError(error).While("copying tensors");
    }
  }

  // Runs one step: gets the mini-batch, computes gradients, sums them over ranks, and updates the parameters.
  Status RunStep(uint32_t epoch, uint32_t step) {
    RETURN_IF_ERROR(Failpoint("trainer.step"));
    const Timer wait_timer;
    // For all reads of the step. It is earlier than the deadline of the collective operations in which the other ranks
    // wait for this one.
    const Deadline data_deadline = options_.timeouts.ForData();
    Result<BatchTensors> next = batches_.Next(data_deadline);
    report_.seconds.wait += wait_timer.Seconds();
    Status own = next.ok() ? Status() : next.status();
    BatchTensors batch = next.ok() ? *std::move(next) : EmptyBatch(options_.relations, data_);
    has_edges_ = has_edges_.value_or(false) || HasEdges(batch.batch);
    if (options_.learnable != nullptr) own = JoinLearnable(own, &batch, data_deadline);

    gradients_.Clear();
    RETURN_IF_ERROR(KeepBuffers());
    RETURN_IF_ERROR(ComputeGradients(batch, epoch, step));
    const bool stop = options_.stop_requested != nullptr && options_.stop_requested->load();
    gradients_.extra_values()[kStop] = stop ? 1.0f : 0.0f;
    gradients_.extra_values()[kFailed] = own.ok() ? 0.0f : 1.0f;
    gradients_.extra_values()[kSave] = WantsSaveAfter(epoch, step) ? 1.0f : 0.0f;
    RETURN_IF_ERROR(Failpoint("trainer.before_allreduce"));
    const Timer timer;
    RETURN_IF_ERROR(SumGradients());
    report_.seconds.communicate += timer.Seconds();
    if (gradients_.extra_values()[kFailed] > 0) {
      const Status failed = collective::AgreeOn(own, collective_, options_.timeouts.collective);
      // Cancelled after a stop request means that a rank stopped waiting for a slow mini-batch: the step is rolled
      // back, and everything before it is saved. With learnable rows this is not possible, because a snapshot of the
      // rows needs the servers, whose RPCs were cancelled. If several ranks have errors, AgreeOn returns the error of
      // the lowest rank; the resumed run encounters the other errors again.
      const bool can_step_back = keeps_buffers_ && options_.learnable == nullptr;
      is_rolled_back_ = failed.code() == StatusCode::kCancelled && IsStopping() && can_step_back;
      return is_rolled_back_ ? RollBackStep() : failed;
    }
    RETURN_IF_ERROR(Update(batch, epoch, step));
    return Failpoint("trainer.after_update");
  }

  Status SumGradients() {
    try {
      return gradients_.AllReduce(collective_, options_.timeouts.ForCollective());
    } catch (const std::exception& error) {  // from torch, if the model is on a GPU
      return FromTorchError(error).While("summing gradients");
    }
  }

  // Copies the model's buffers before the step, for RollBackStep.
  Status KeepBuffers() {
    if (!keeps_buffers_) return Status();
    ASSIGN_OR_RETURN(buffers_before_, CopyTensors(GetBuffers(model_)));
    return Status();
  }

  // Undoes a step whose Update has not run. Only buffers (running statistics) must be restored, because parameters
  // change only in Update.
  Status RollBackStep() {
    NamedTensors state = GetParameters(model_);
    state.insert(state.end(), buffers_before_.begin(), buffers_before_.end());
    return LoadState(model_, state);
  }

  // Reads learnable rows at this step's version. If that fails, or if `own` is an error, replaces the mini-batch by an
  // empty one and returns the error.
  Status JoinLearnable(const Status& own, BatchTensors* batch, Deadline deadline) {
    const Status read = own.ok() ? options_.learnable->Join(batch, deadline) : own;
    if (read.ok()) return read;
    *batch = EmptyBatch(options_.relations, data_);
    options_.learnable->JoinNothing(batch);
    return read;
  }

  bool WantsSaveAfter(uint32_t epoch, uint32_t step) const {
    const uint64_t steps = options_.steps_per_epoch;
    return snapshots_.WantsAfter({epoch, epoch * steps + step + 1, step + 1 == steps});
  }

  Status ComputeGradients(BatchTensors& batch, uint32_t epoch, uint32_t step) {
    const ComputeScope computing(observer_);
    const Timer timer;
    report_.seconds.sample += batch.sample_seconds;
    report_.seconds.fetch += batch.fetch_seconds;
    try {
      LayerRun run;
      run.training = true;
      run.seed = options_.training.seed;
      run.epoch = epoch;
      run.step = step;
      run.collective = &collective_;
      run.deadline = options_.timeouts.ForCollective();
      const torch::Tensor outputs = ForwardPass(model_, batch, run);
      const torch::Tensor loss = options_.loss(batch, outputs);
      // Every rank runs the backward pass, even without seeds, because batch normalization communicates in it.
      loss.backward();
      gradients_.extra_values()[kLoss] = loss.item<float>();
    } catch (const ModelError& error) {
      return error.status();
    } catch (const CollectiveError& error) {
      return error.status();
    } catch (const std::exception& error) {  // for example if memory runs out
      if (options_.training.model.type == job::ModelType::kTorchScript && !IsOutOfMemory(error)) {
        return InvalidArgument(error.what())
            .While("the module in " + options_.training.model.uri + ", computing gradients");
      }
      return FromTorchError(error).While("computing gradients");
    }
    report_.seconds.compute += timer.Seconds();
    return Status();
  }

  // Sends the gradients of learnable rows and applies the optimizer. InvalidArgument if the loss is not finite.
  Status Update(const BatchTensors& batch, uint32_t epoch, uint32_t step) {
    const float loss = gradients_.extra_values()[kLoss];
    if (!std::isfinite(loss)) {
      return InvalidArgument("the loss is " + std::to_string(loss) + " at epoch " + std::to_string(epoch) + ", step " +
                             std::to_string(step) + "; try a lower learning rate");
    }
    const Timer timer;
    if (options_.learnable != nullptr) RETURN_IF_ERROR(options_.learnable->Push(batch, run_length_));
    const int64_t global_step = int64_t{epoch} * options_.steps_per_epoch + step;
    report_.learning_rate =
        LearningRateAt(options_.training.schedule, options_.training.optimizer.learning_rate, run_length_, global_step);
    RETURN_IF_ERROR(UpdateParameters());
    step_seeds_ = batch.batch.global_num_seeds;
    report_.num_seeds += batch.batch.global_num_seeds;
    report_.seconds.compute += timer.Seconds();
    return Status();
  }

  Status UpdateParameters() {
    const ComputeScope computing(observer_);
    try {
      optimizer_.Step(report_.learning_rate);
    } catch (const std::exception& error) {  // for example if memory runs out
      return FromTorchError(error).While("updating parameters");
    }
    return Status();
  }

  // Evaluates after every evaluation.everyEpochs epochs and after the last epoch, and records the best model. Metrics
  // are the same on every rank, so all ranks decide alike.
  Status Validate() {
    const bool is_last = report_.epoch + 1 == static_cast<uint32_t>(options_.training.epochs);
    const int64_t every = options_.training.evaluation.every_epochs;
    const bool is_due = every > 0 && (report_.epoch + 1) % every == 0;
    if (!is_last && !is_due) return Status();
    const Timer timer;
    ASSIGN_OR_RETURN(report_.validation, evaluator_.Evaluate(model_, graph::SplitPartName::kValidation));
    report_.seconds.evaluate = timer.Seconds();
    if (!report_.validation.has_value()) return Status();
    const bool is_best = early_stopping_.Record(report_.epoch, *report_.validation);
    // With learnable rows, the loop returns the last epoch's model, because earlier values of the rows are not kept.
    if (is_best && options_.learnable == nullptr) RETURN_IF_ERROR(KeepBestModel(report_.epoch));
    if (early_stopping_.should_stop() && !is_last) result_.end = LoopEnd::kEarlyStopping;
    return Status();
  }

  // Copies the model's current state to the result.
  Status KeepBestModel(uint32_t epoch) {
    result_.model_epoch = epoch;
    ASSIGN_OR_RETURN(result_.best_state, CopyTensors(GetState(model_)));
    return Status();
  }

  Model& model_;
  const NodeData& data_;
  BatchPrefetcher& batches_;
  Evaluator& evaluator_;
  collective::Collective& collective_;
  const LoopOptions& options_;
  TrainingObserver& observer_;
  SnapshotSink& snapshots_;
  const RunLength run_length_;
  FlatGradients gradients_;
  Optimizer optimizer_;
  LoopResult result_;
  uint32_t epoch_ = 0;
  uint32_t next_step_ = 0;
  EpochReport report_;
  double loss_sum_ = 0;  // over the epoch's seeds so far
  uint32_t step_seeds_ = 0;
  // Whether each step begins with a copy of the model's buffers: only if they have at most kMaxBufferBytes. Running
  // statistics are small, but a user's module may have large tables as buffers; without the copy, a cancelled
  // mini-batch fails the run like any other error.
  const bool keeps_buffers_;
  NamedTensors buffers_before_;
  std::optional<bool> has_edges_;  // whether a mini-batch of this rank had edges; nullopt before the first step
  bool has_checked_edges_ = false;
  bool is_rolled_back_ = false;  // whether the current step was rolled back; the state is then that before the step
  EarlyStopping early_stopping_;
};

}  // namespace

Result<LoopResult> RunTrainingLoop(Model& model, const NodeData& data, BatchPrefetcher& batches, Evaluator& evaluator,
                                   collective::Collective& collective, const LoopOptions& options) {
  return Loop(model, data, batches, evaluator, collective, options).Run();
}

}  // namespace espalier::trainer
