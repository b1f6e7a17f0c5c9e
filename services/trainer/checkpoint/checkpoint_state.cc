// MakeManifest and ToFiles split a snapshot into a manifest (position, history, facts about the run) and tensor files;
// ToSnapshot is the inverse of both. Tensors are shared, not copied. CheckFits compares every field that the checkpoint
// or the job has, so a field that only one of them has is a difference. The exception is kCanonicalEdgeTypes, which
// older checkpoints lack. DescribeChanges lists differences that do not prevent a resume, such as the number of
// trainers.
#include "services/trainer/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <optional>
#include <set>

#include "services/job/enum_names.h"
#include "services/sampler/spec/draw_spec.h"
#include "services/trainer/model/parameters.h"

namespace espalier::trainer {
namespace {

using format::CheckpointEnd;
using format::CheckpointManifest;
using format::EpochRecord;

// The members of SecondsSplit by name.
constexpr std::pair<const char*, double SecondsSplit::*> kSeconds[] = {
    {"sample", &SecondsSplit::sample},     {"fetch", &SecondsSplit::fetch},
    {"wait", &SecondsSplit::wait},         {"compute", &SecondsSplit::compute},
    {"evaluate", &SecondsSplit::evaluate}, {"communicate", &SecondsSplit::communicate}};

EpochRecord ToRecord(const EpochReport& report) {
  EpochRecord record;
  record.epoch = report.epoch;
  record.loss = report.loss;
  record.learning_rate = report.learning_rate;
  record.validation = report.validation;
  record.num_seeds = report.num_seeds;
  record.total_seconds = report.total_seconds;
  for (const auto& [name, part] : kSeconds) record.seconds[name] = report.seconds.*part;
  return record;
}

EpochReport ToReport(const EpochRecord& record) {
  EpochReport report;
  report.epoch = record.epoch;
  report.loss = record.loss;
  report.learning_rate = record.learning_rate;
  report.validation = record.validation;
  report.num_seeds = record.num_seeds;
  report.total_seconds = record.total_seconds;
  for (const auto& [name, part] : kSeconds) {
    if (const auto found = record.seconds.find(name); found != record.seconds.end())
      report.seconds.*part = found->second;
  }
  return report;
}

format::CheckpointMath ToCheckpointMath(const CheckpointFacts& facts) {
  return {.threads = static_cast<uint64_t>(facts.math.threads),
          .torch = facts.math.torch_version,
          .cpu_capability = facts.math.cpu_capability,
          .blas = facts.math.blas,
          .blas_kernel = facts.math.blas_kernel,
          .device = facts.math.device,
          .precision = job::ToString(facts.precision),
          .collective = facts.collective};
}

CheckpointEnd ToCheckpointEnd(const LoopSnapshot& snapshot, uint32_t num_epochs) {
  if (snapshot.stopped_early) return CheckpointEnd::kEarlyStopping;
  return snapshot.epoch >= num_epochs ? CheckpointEnd::kAllEpochs : CheckpointEnd::kNotEnded;
}

// Returns the tensors of the file `key`; none if the checkpoint has no such file.
Result<NamedTensors> FindTensors(const format::CheckpointFiles& files, const char* key) {
  const auto file = files.find(key);
  if (file == files.end()) return NamedTensors();
  return ToNamedTensors(file->second.tensors).While(key);
}

}  // namespace

CheckpointManifest MakeManifest(const LoopSnapshot& snapshot, const CheckpointFacts& facts) {
  CheckpointManifest manifest;
  manifest.id = {facts.incarnation, uint64_t{snapshot.epoch} * facts.steps_per_epoch + snapshot.next_step};
  manifest.job_name = facts.job_name;
  manifest.epoch = snapshot.epoch;
  manifest.next_step = snapshot.next_step;
  manifest.steps_per_epoch = facts.steps_per_epoch;
  manifest.num_epochs = facts.num_epochs;
  manifest.end = ToCheckpointEnd(snapshot, facts.num_epochs);
  manifest.seed = facts.seed;
  manifest.fields = facts.fields;
  manifest.partition_key = facts.partition_key;
  manifest.num_partitions = facts.num_partitions;
  manifest.num_trainers = facts.num_trainers;
  manifest.math = ToCheckpointMath(facts);
  for (const EpochReport& epoch : snapshot.epochs) manifest.loop.epochs.push_back(ToRecord(epoch));
  manifest.loop.partial = ToRecord(snapshot.partial);
  manifest.loop.first_epoch_losses = snapshot.first_epoch_losses;
  manifest.loop.best_epoch = snapshot.best_epoch;
  manifest.loop.best_validation = snapshot.best_validation;
  manifest.loop.evaluations_since_best = static_cast<uint64_t>(snapshot.evaluations_since_best);
  manifest.metric = {facts.metric, facts.higher_is_better, snapshot.validation};
  return manifest;
}

format::CheckpointFiles ToFiles(const LoopSnapshot& snapshot) {
  format::CheckpointFiles files;
  files[format::kCheckpointModel].tensors = ToTensors(snapshot.model);
  files[format::kCheckpointOptimizer].tensors = ToTensors(snapshot.optimizer);
  if (!snapshot.best.empty()) files[format::kCheckpointBest].tensors = ToTensors(snapshot.best);
  return files;
}

namespace {

// Sets best_epoch to the first epoch with the best validation metric. In older checkpoints with learnable rows,
// best_epoch may be another epoch.
void SetBestEpoch(LoopSnapshot* snapshot) {
  if (!snapshot->best_validation.has_value()) return;
  for (const EpochReport& report : snapshot->epochs) {
    if (report.validation != snapshot->best_validation) continue;
    snapshot->best_epoch = report.epoch;
    return;
  }
}

}  // namespace

Result<LoopSnapshot> ToSnapshot(const format::LoadedCheckpoint& checkpoint) {
  const CheckpointManifest& manifest = checkpoint.manifest;
  LoopSnapshot snapshot;
  snapshot.epoch = manifest.epoch;
  snapshot.next_step = manifest.next_step;
  snapshot.stopped_early = manifest.end == CheckpointEnd::kEarlyStopping;
  for (const EpochRecord& epoch : manifest.loop.epochs) snapshot.epochs.push_back(ToReport(epoch));
  snapshot.partial = ToReport(manifest.loop.partial);
  snapshot.first_epoch_losses = manifest.loop.first_epoch_losses;
  snapshot.best_epoch = manifest.loop.best_epoch;
  snapshot.best_validation = manifest.loop.best_validation;
  snapshot.evaluations_since_best = static_cast<int64_t>(manifest.loop.evaluations_since_best);
  snapshot.validation = manifest.metric.value;
  ASSIGN_OR_RETURN(snapshot.model, FindTensors(checkpoint.files, format::kCheckpointModel));
  ASSIGN_OR_RETURN(snapshot.best, FindTensors(checkpoint.files, format::kCheckpointBest));
  ASSIGN_OR_RETURN(snapshot.optimizer, FindTensors(checkpoint.files, format::kCheckpointOptimizer));
  if (format::HasLearnablePieces(manifest)) SetBestEpoch(&snapshot);
  return snapshot;
}

Status CheckFits(const CheckpointManifest& manifest, const CheckpointFacts& facts) {
  using Value = std::optional<std::string>;
  const auto value_at = [](const std::map<std::string, std::string>& fields, const std::string& path) -> Value {
    const auto found = fields.find(path);
    return found == fields.end() ? Value() : Value(found->second);
  };
  const auto is_same = [&](const std::string& path, const Value& a, const Value& b) {
    if (a == b || !a || !b) return a == b;
    return ToCanonicalText(path, *a, facts.edge_types) == ToCanonicalText(path, *b, facts.edge_types);
  };
  const auto describe = [](const Value& value) { return value ? "'" + *value + "'" : std::string("nothing"); };
  std::set<std::string> paths;
  for (const auto* fields : {&manifest.fields, &facts.fields}) {
    for (const auto& [path, value] : *fields) paths.insert(path);
  }
  std::string differences;
  for (const std::string& path : paths) {
    if (path == kCanonicalEdgeTypes && !manifest.fields.contains(path)) continue;
    const Value in_checkpoint = value_at(manifest.fields, path), in_job = value_at(facts.fields, path);
    if (is_same(path, in_checkpoint, in_job)) continue;
    differences += (differences.empty() ? "" : "; ") + path + ": the checkpoint has " + describe(in_checkpoint) +
                   ", this job has " + describe(in_job);
  }
  if (!differences.empty()) return FailedPrecondition("the checkpoint belongs to another job: " + differences);
  const uint32_t epochs_begun = manifest.epoch + (manifest.next_step > 0 ? 1 : 0);
  if (epochs_begun > facts.num_epochs) {
    return FailedPrecondition("training.epochs: the checkpoint is in epoch " + std::to_string(epochs_begun) +
                              " (counted from 1), this job has only " + std::to_string(facts.num_epochs));
  }
  return Status();
}

std::vector<std::string> DescribeChanges(const CheckpointManifest& manifest, const CheckpointFacts& facts) {
  std::vector<std::string> changes;
  const auto compare = [&](const std::string& what, const std::string& then, const std::string& now,
                           const std::string& effect) {
    if (then != now) changes.push_back(what + " was " + then + " and is " + now + ": " + effect);
  };
  const std::string similar_results =
      "the run resumes from the same step; its results are close to those of a run without the change, but not bitwise "
      "equal";
  // The effect of changes in how a step's seeds are divided among the trainers. With `expand: Once`, the sampled
  // neighbors depend on which seeds share a trainer's mini-batch.
  const auto expand = facts.fields.find("training.sampling.expand");
  const bool expands_once = expand != facts.fields.end() && expand->second == sampler::ToString(sampler::Expand::kOnce);
  const std::string other_shares =
      expands_once ? "the run resumes from the same step; with sampling.expand Once, its mini-batches "
                     "have the same seeds but other neighbors than those of a run without the change"
                   : similar_results;
  compare("the number of trainers", std::to_string(manifest.num_trainers), std::to_string(facts.num_trainers),
          other_shares);
  if (facts.num_trainers > 1) {
    compare("the partitioning", manifest.partition_key, facts.partition_key, other_shares);
    compare("the all-reduce", manifest.math.collective, facts.collective, similar_results);
  }
  if (facts.schedule_needs_length) {
    compare("training.epochs", std::to_string(manifest.num_epochs), std::to_string(facts.num_epochs),
            "learning rates after the checkpoint are computed from the new number of epochs");
  }
  const format::CheckpointMath now = ToCheckpointMath(facts);
  compare("the number of threads", std::to_string(manifest.math.threads), std::to_string(now.threads), similar_results);
  compare("torch", manifest.math.torch, now.torch, similar_results);
  compare("the processor's instruction set for torch", manifest.math.cpu_capability, now.cpu_capability,
          similar_results);
  compare("BLAS", manifest.math.blas, now.blas, similar_results);
  compare("the BLAS kernel", manifest.math.blas_kernel, now.blas_kernel, similar_results);
  compare("the device", manifest.math.device, now.device, similar_results);
  compare("training.precision", manifest.math.precision, now.precision, similar_results);
  return changes;
}

}  // namespace espalier::trainer
