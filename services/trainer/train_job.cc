#include "services/trainer/train_job.h"

#include <cstring>

#include "services/collective/agreement.h"
#include "services/sampler/audit.h"
#include "services/trainer/node_results.h"
#include "services/trainer/outputs.h"
#include "services/trainer/parameters.h"
#include "services/trainer/sampling_plan.h"

namespace espalier::trainer {
namespace {

using graph::SplitPartName;

// What training is made of, in the order in which it is built.
struct Parts {
  NodeData data;
  sampler::SamplingSpec sampling;
  std::shared_ptr<Model> model;
  uint32_t steps_per_epoch = 0;
};

Result<uint32_t> StepsPerEpoch(const job::Training& training, const NodeData& data, sampler::SeedSource& seeds) {
  ASSIGN_OR_RETURN(const uint64_t count, seeds.CountOf(data.seed_type(), training.task.split, SplitPartName::kTrain));
  if (count == 0) return InvalidArgument("split '" + training.task.split + "' has no training nodes");
  const auto batch_size = static_cast<uint64_t>(training.batch_size);
  const uint64_t steps = (count + batch_size - 1) / batch_size;
  if (steps > UINT32_MAX) return InvalidArgument("an epoch of " + std::to_string(steps) + " steps; use larger batches");
  return static_cast<uint32_t>(steps);
}

Result<Parts> MakeParts(const job::Training& training, GraphAccess graph, collective::Collective& collective,
                        const Timeouts& timeouts) {
  ASSIGN_OR_RETURN(NodeData data, NodeData::Make(training, graph.schema(), graph.rows));
  RETURN_IF_ERROR(data.CountOutputs(training.task.split, graph.seeds, collective, timeouts.collective));
  ASSIGN_OR_RETURN(const uint32_t steps_per_epoch, StepsPerEpoch(training, data, graph.seeds));
  ASSIGN_OR_RETURN(sampler::SamplingSpec sampling, SamplingSpecOf(training.sampling, graph.schema(), training.seed));
  ModelOptions options;
  options.model = training.model;
  options.num_layers = static_cast<int>(sampling.layers.size());
  options.schema = graph.schema();
  options.input_widths = data.input_widths();
  options.num_outputs = data.num_outputs();
  options.relations = RelationsOf(sampling);
  options.seed_type = data.seed_type();
  options.seed = training.seed;
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model, MakeModel(options));
  return Parts{std::move(data), std::move(sampling), std::move(model), steps_per_epoch};
}

EvaluationOptions EvaluationOptionsOf(const job::Training& training, const sampler::SamplingSpec& sampling,
                                      const TrainOptions& options) {
  EvaluationOptions evaluation;
  evaluation.metric = training.evaluation.metric;
  evaluation.neighborhood = training.evaluation.neighborhood;
  evaluation.split = training.task.split;
  evaluation.sampling = sampling;
  evaluation.tensor_prefix = "espalier-inference-" + std::to_string(options.incarnation);
  evaluation.inference.chunk_nodes = options.inference_chunk_nodes;
  evaluation.inference.timeouts = options.timeouts;
  return evaluation;
}

// Ranks make the same updates, so their parameters are the same bits. Where they are not, something is wrong with a
// machine or a library, and the results are worth nothing.
Status CheckSameParameters(const std::string& digest, collective::Collective& collective, Deadline deadline) {
  ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                   collective.AllGather(std::as_bytes(std::span<const char>(digest.data(), digest.size())), deadline));
  for (uint32_t rank = 0; rank < collective.size(); ++rank) {
    if (std::memcmp(all.data() + rank * digest.size(), digest.data(), digest.size()) != 0) {
      return Internal("trainers " + std::to_string(collective.rank().value) + " and " + std::to_string(rank) +
                      " ended with different parameters");
    }
  }
  return Status();
}

// One trainer's run, phase by phase.
class TrainerRun {
 public:
  TrainerRun(const job::DistTraining& job, GraphAccess graph, collective::Collective& collective,
             const TrainOptions& options, Parts parts)
      : job_(job), graph_(graph), collective_(collective), options_(options), parts_(std::move(parts)) {}

  Result<TrainOutcome> Run(sampler::MiniBatchSource& batches) {
    RETURN_IF_ERROR(OpenFiles());
    ASSIGN_OR_RETURN(evaluator_, Evaluator::Make(graph_, parts_.data, collective_,
                                                 EvaluationOptionsOf(job_.training, parts_.sampling, options_)));
    RETURN_IF_ERROR(Train(batches));
    RETURN_IF_ERROR(SaveModels());
    // Only now: a metrics line that could not be written must not cost the models.
    RETURN_IF_ERROR(collective::AgreeOn(records_, collective_, options_.timeouts.ForCollective()));
    if (!outcome_.stopped()) RETURN_IF_ERROR(EvaluateBest());
    outcome_.total_seconds = timer_.Seconds();
    if (!outcome_.stopped() && outputs_ != nullptr) RETURN_IF_ERROR(outputs_->WriteResult(outcome_));
    return std::move(outcome_);
  }

 private:
  // Before the work, so that a folder nobody may write to is known at once.
  Status OpenFiles() {
    Status status;
    if (collective_.rank() == Rank(0) && !options_.output_dir.empty()) {
      auto outputs = Outputs::Open(options_.output_dir, FactsOf());
      if (outputs.ok()) outputs_ = *std::move(outputs);
      status = outputs_ != nullptr ? Status() : outputs.status();
    }
    if (status.ok() && !options_.audit_path.empty()) {
      auto audit = sampler::AuditWriter::Open(options_.audit_path, graph_.schema());
      if (audit.ok()) audit_ = *std::move(audit);
      status = audit_ != nullptr ? Status() : audit.status();
    }
    return collective::AgreeOn(status, collective_, options_.timeouts.ForCollective());
  }

  RunFacts FactsOf() const {
    RunFacts facts;
    facts.job = job_;
    facts.graph_name = options_.graph_name;
    facts.math = options_.math;
    facts.num_nodes = graph_.neighbors.book().num_nodes();
    facts.num_edges = graph_.neighbors.book().num_edges();
    facts.num_partitions = graph_.neighbors.book().num_partitions();
    facts.num_trainers = collective_.size();
    facts.num_outputs = parts_.data.num_outputs();
    facts.steps_per_epoch = parts_.steps_per_epoch;
    facts.incarnation = options_.incarnation;
    return facts;
  }

  Status Train(sampler::MiniBatchSource& batches) {
    PrefetchOptions prefetch;
    prefetch.num_epochs = static_cast<uint32_t>(job_.training.epochs);
    prefetch.steps_per_epoch = parts_.steps_per_epoch;
    prefetch.data_timeout = options_.timeouts.data;
    prefetch.audit = audit_.get();
    LoopOptions loop;
    loop.training = job_.training;
    loop.steps_per_epoch = parts_.steps_per_epoch;
    loop.relations = RelationsOf(parts_.sampling);
    loop.timeouts = options_.timeouts;
    loop.stop_requested = options_.stop_requested;
    loop.on_step = options_.on_step;
    loop.on_epoch = [&](const EpochReport& report) {
      if (outputs_ != nullptr && records_.ok()) records_ = outputs_->AppendEpoch(report);
      if (options_.on_epoch) options_.on_epoch(report);
    };
    {
      BatchPrefetcher prefetcher(batches, parts_.data, prefetch);
      ASSIGN_OR_RETURN(outcome_.loop,
                       RunTrainingLoop(*parts_.model, parts_.data, prefetcher, *evaluator_, collective_, loop));
    }
    if (audit_ != nullptr && records_.ok()) records_ = audit_->Close();
    outcome_.num_outputs = parts_.data.num_outputs();
    return Status();
  }

  // Leaves the best parameters in the model.
  Status SaveModels() {
    if (outputs_ != nullptr) RETURN_IF_ERROR(outputs_->WriteModel("last", StateOf(*parts_.model)));
    RETURN_IF_ERROR(LoadState(*parts_.model, outcome_.loop.best_state));
    outcome_.loop.best_state.clear();
    if (outputs_ != nullptr) RETURN_IF_ERROR(outputs_->WriteModel("best", StateOf(*parts_.model)));
    outcome_.parameters_digest = ParametersDigest(*parts_.model);
    return CheckSameParameters(outcome_.parameters_digest, collective_, options_.timeouts.ForCollective());
  }

  Status EvaluateBest() {
    RETURN_IF_ERROR(evaluator_->Begin(*parts_.model));
    ASSIGN_OR_RETURN(outcome_.validation, evaluator_->MetricOf(*parts_.model, SplitPartName::kValidation));
    ASSIGN_OR_RETURN(outcome_.test, evaluator_->MetricOf(*parts_.model, SplitPartName::kTest));
    if (!options_.output_dir.empty()) RETURN_IF_ERROR(WriteNodeResults());
    return evaluator_->End();
  }

  Status WriteNodeResults() {
    const NodeResultsRequest request = NodeResultsOf(job_);
    if (!request.embeddings && !request.predictions) return Status();
    if (!evaluator_->has_full_pass()) {
      RETURN_IF_ERROR(evaluator_->inference().ComputeHidden(*parts_.model, evaluator_->NextTensorPrefix()));
    }
    return ExportNodeResults({graph_, parts_.data, collective_, options_.timeouts, NodeResultAttributes(FactsOf())},
                             *parts_.model, evaluator_->inference(), request, options_.output_dir,
                             evaluator_->NextTensorPrefix());
  }

  const job::DistTraining& job_;
  GraphAccess graph_;
  collective::Collective& collective_;
  const TrainOptions& options_;
  Parts parts_;
  Timer timer_;
  std::unique_ptr<Outputs> outputs_;  // rank 0's
  Status records_;                    // of metrics.jsonl and the audit, the first error
  std::unique_ptr<sampler::AuditWriter> audit_;
  std::unique_ptr<Evaluator> evaluator_;
  TrainOutcome outcome_;
};

}  // namespace

Result<sampler::EpochPlan> EpochPlanOf(const job::Training& training, const graph::GraphSchema& schema,
                                       uint32_t num_trainers, Rank rank) {
  ASSIGN_OR_RETURN(const NodeTypeId seed_type,
                   NodeTypeOf(training.task.node_type, schema, "spec.training.task.nodeType"));
  sampler::EpochPlan plan;
  plan.seed_type = seed_type;
  plan.split = training.task.split;
  plan.batch_size = static_cast<uint64_t>(training.batch_size);
  plan.num_trainers = num_trainers;
  plan.rank = rank;
  return plan;
}

Result<TrainOutcome> TrainJob(const job::DistTraining& job, GraphAccess graph, sampler::MiniBatchSource& batches,
                              collective::Collective& collective, const TrainOptions& options) {
  ASSIGN_OR_RETURN(Parts parts, MakeParts(job.training, graph, collective, options.timeouts));
  return TrainerRun(job, graph, collective, options, std::move(parts)).Run(batches);
}

}  // namespace espalier::trainer
