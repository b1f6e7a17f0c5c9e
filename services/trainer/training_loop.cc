#include "services/trainer/training_loop.h"

#include <cmath>

#include "services/collective/agreement.h"
#include "services/trainer/collective_error.h"
#include "services/trainer/flat_gradients.h"
#include "services/trainer/forward_pass.h"
#include "services/trainer/losses.h"
#include "services/trainer/metrics.h"
#include "services/trainer/parameters.h"

namespace espalier::trainer {
namespace {

// What rides behind the gradients.
enum Extra : size_t { kLoss = 0, kStop = 1, kFailed = 2, kNumExtras = 3 };

NamedTensors CopyOf(const NamedTensors& tensors) {
  NamedTensors copy;
  for (const auto& [name, tensor] : tensors) copy.emplace_back(name, tensor.detach().clone());
  return copy;
}

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
        run_length_{options.steps_per_epoch, options.training.epochs},
        gradients_(ParametersOf(model), kNumExtras),
        optimizer_(options.training.optimizer, ParametersOf(model)) {}

  Result<LoopResult> Run() {
    const auto num_epochs = static_cast<uint32_t>(options_.training.epochs);
    for (uint32_t epoch = 0; epoch < num_epochs && result_.end == LoopEnd::kAllEpochs; ++epoch) {
      RETURN_IF_ERROR(RunEpoch(epoch));
    }
    if (!result_.best_validation.has_value()) TakeAsBest(num_epochs == 0 ? 0 : result_.epochs.back().epoch);
    return std::move(result_);
  }

 private:
  Status RunEpoch(uint32_t epoch) {
    const Timer timer;
    report_ = EpochReport();
    report_.epoch = epoch;
    double loss = 0;
    for (uint32_t step = 0; step < options_.steps_per_epoch; ++step) {
      RETURN_IF_ERROR(RunStep(epoch, step));
      const double step_loss = gradients_.extra_values()[kLoss];
      if (epoch == 0) result_.first_epoch_losses.push_back(step_loss);
      loss += step_loss * step_seeds_;
      if (options_.on_step) {
        options_.on_step({epoch, step, static_cast<uint32_t>(options_.training.epochs), options_.steps_per_epoch});
      }
      if (gradients_.extra_values()[kStop] > 0) {
        result_.end = LoopEnd::kStopRequested;
        break;
      }
    }
    report_.loss = report_.num_seeds == 0 ? 0 : loss / static_cast<double>(report_.num_seeds);
    RETURN_IF_ERROR(Validate());
    report_.total_seconds = timer.Seconds();
    result_.epochs.push_back(report_);
    if (options_.on_epoch) options_.on_epoch(report_);
    return Status();
  }

  Status RunStep(uint32_t epoch, uint32_t step) {
    const Timer wait_timer;
    Result<BatchTensors> next = batches_.Next(options_.timeouts.ForData());
    report_.seconds.wait += wait_timer.Seconds();
    const Status own = next.ok() ? Status() : next.status();
    const BatchTensors batch = next.ok() ? *std::move(next) : EmptyBatch(options_.relations, data_);

    gradients_.Clear();
    RETURN_IF_ERROR(ComputeGradients(batch, epoch, step));
    const bool stop = options_.stop_requested != nullptr && options_.stop_requested->load();
    gradients_.extra_values()[kStop] = stop ? 1.0f : 0.0f;
    gradients_.extra_values()[kFailed] = own.ok() ? 0.0f : 1.0f;
    const Timer timer;
    RETURN_IF_ERROR(collective_.AllReduceSum(gradients_.values(), options_.timeouts.ForCollective()));
    report_.seconds.communicate += timer.Seconds();
    if (gradients_.extra_values()[kFailed] > 0) {
      return collective::AgreeOn(own, collective_, options_.timeouts.ForCollective());
    }
    return Update(batch, epoch, step);
  }

  Status ComputeGradients(const BatchTensors& batch, uint32_t epoch, uint32_t step) {
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
      const torch::Tensor loss = Loss(data_.loss_kind(), outputs, batch.labels, int64_t{batch.batch.global_num_seeds});
      // Also for an empty share: batch normalisation's backward pass talks to the other ranks.
      loss.backward();
      gradients_.extra_values()[kLoss] = loss.item<float>();
    } catch (const CollectiveError& error) {
      return error.status();
    } catch (const std::exception& error) {  // torch, out of memory for one
      return Internal(error.what()).While("computing gradients");
    }
    report_.seconds.compute += timer.Seconds();
    return Status();
  }

  Status Update(const BatchTensors& batch, uint32_t epoch, uint32_t step) {
    const float loss = gradients_.extra_values()[kLoss];
    if (!std::isfinite(loss)) {
      return InvalidArgument("the loss is " + std::to_string(loss) + " at epoch " + std::to_string(epoch) + ", step " +
                             std::to_string(step) + "; try a lower learning rate");
    }
    const Timer timer;
    const int64_t global_step = int64_t{epoch} * options_.steps_per_epoch + step;
    report_.learning_rate =
        LearningRateAt(options_.training.schedule, options_.training.optimizer.learning_rate, run_length_, global_step);
    optimizer_.Step(report_.learning_rate);
    step_seeds_ = batch.batch.global_num_seeds;
    report_.num_seeds += batch.batch.global_num_seeds;
    report_.seconds.compute += timer.Seconds();
    return Status();
  }

  // After every so many epochs and after the last one. Metrics are the same on every rank, hence so are decisions.
  Status Validate() {
    const bool is_last = report_.epoch + 1 == static_cast<uint32_t>(options_.training.epochs);
    const int64_t every = options_.training.evaluation.every_epochs;
    const bool is_due = every > 0 && (report_.epoch + 1) % every == 0;
    if (result_.end == LoopEnd::kStopRequested || (!is_last && !is_due)) return Status();
    const Timer timer;
    ASSIGN_OR_RETURN(report_.validation, evaluator_.Evaluate(model_, graph::SplitPartName::kValidation));
    report_.seconds.evaluate = timer.Seconds();
    if (!report_.validation.has_value()) return Status();
    if (IsBetter(*report_.validation)) {
      TakeAsBest(report_.epoch);
      result_.best_validation = report_.validation;
      evaluations_since_best_ = 0;
      return Status();
    }
    const int64_t patience = options_.training.evaluation.patience;
    if (++evaluations_since_best_ >= patience && patience > 0 && !is_last) result_.end = LoopEnd::kEarlyStopping;
    return Status();
  }

  bool IsBetter(double value) const {
    if (!result_.best_validation.has_value()) return true;
    return HigherIsBetter(options_.training.evaluation.metric) ? value > *result_.best_validation
                                                               : value < *result_.best_validation;
  }

  void TakeAsBest(uint32_t epoch) {
    result_.best_epoch = epoch;
    result_.best_state = CopyOf(StateOf(model_));
  }

  Model& model_;
  const NodeData& data_;
  BatchPrefetcher& batches_;
  Evaluator& evaluator_;
  collective::Collective& collective_;
  const LoopOptions& options_;
  const RunLength run_length_;
  FlatGradients gradients_;
  Optimizer optimizer_;
  LoopResult result_;
  EpochReport report_;
  uint32_t step_seeds_ = 0;
  int64_t evaluations_since_best_ = 0;
};

}  // namespace

Result<LoopResult> RunTrainingLoop(Model& model, const NodeData& data, BatchPrefetcher& batches, Evaluator& evaluator,
                                   collective::Collective& collective, const LoopOptions& options) {
  return Loop(model, data, batches, evaluator, collective, options).Run();
}

}  // namespace espalier::trainer
