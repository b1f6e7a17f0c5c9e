#include "services/job/checks/job_warnings.h"

namespace espalier::job {
namespace {

constexpr int64_t kMinColumnsPerHead = 4;

// DGL's num_hidden is the width of one head, but hiddenSize is the width of all heads together. If a document sets
// hiddenSize to the num_hidden of a DGL script, its heads can have only one or two columns.
void WarnOfNarrowHeads(const Model& model, std::vector<std::string>* warnings) {
  if (!IsAttention(model.type) || model.heads < 2) return;
  const int64_t columns = model.hidden_size / model.heads;
  if (columns >= kMinColumnsPerHead) return;
  warnings->push_back(
      "spec.training.model.hiddenSize: " + std::to_string(model.hidden_size) + " leaves " + std::to_string(columns) +
      (columns == 1 ? " column" : " columns") + " for each of " + std::to_string(model.heads) +
      " heads, expected at least 4; hiddenSize is the width of all heads together: for heads of " +
      std::to_string(model.hidden_size) + " columns write " + std::to_string(model.hidden_size * model.heads));
}

void WarnOfUnusedGpus(const DistTraining& job, std::vector<std::string>* warnings) {
  if (job.program.has_value() || job.trainer_gpus == 0 || job.trainer_device != Device::kCpu) return;
  warnings->push_back("spec.trainers.gpus: found " + std::to_string(job.trainer_gpus) +
                      ", but trainers with device CPU do not use a GPU; set spec.trainers.device to CUDA");
}

}  // namespace

std::vector<std::string> JobWarnings(const DistTraining& job) {
  std::vector<std::string> warnings;
  if (job.has_training) WarnOfNarrowHeads(job.training.model, &warnings);
  WarnOfUnusedGpus(job, &warnings);
  return warnings;
}

}  // namespace espalier::job
