#include "services/trainer/script_output.h"

#include <string>

#include "services/trainer/model/torch_script.h"

namespace espalier::trainer {
namespace {

constexpr char kFile[] = "model/best.pt";

}  // namespace

bool SavesTorchScript(const job::DistTraining& job) {
  const bool is_module = job.training.model.type == job::ModelType::kTorchScript;
  return job::Saves(job, job::OutputKind::kTorchScript) || (is_module && job::Saves(job, job::OutputKind::kModel));
}

Status WriteTorchScript(const job::DistTraining& job, const graph::GraphSchema& schema, const Parts& parts,
                        Outputs& outputs) {
  if (const std::string head = parts.task->words().head; !head.empty()) {
    outputs.RecordNotWritten(kFile, "TorchScript cannot contain the model's " + head);
    return Status();
  }
  const Result<std::string> script = MakeTorchScript(*parts.model, MakeModelOptions(job.training, schema, parts));
  if (script.ok()) return outputs.WriteTorchScript("best", *script);
  outputs.RecordNotWritten(kFile, script.status().message());
  return Status();
}

void NoteScriptNotSaved(const job::DistTraining& job, const graph::GraphSchema& schema, const Parts& parts,
                        Outputs& outputs) {
  if (!job::Saves(job, job::OutputKind::kModel) || SavesTorchScript(job)) return;
  if (*parts.task->words().head != '\0') return;
  if (!CheckTorchScript(MakeModelOptions(job.training, schema, parts)).ok()) return;
  outputs.RecordNotWritten(kFile,  // this note is to be removed in the release after 0.1.0
                           "model/best.safetensors has the same parameters; add TorchScript to spec.output.save if a "
                           "program needs model/best.pt");
}

}  // namespace espalier::trainer
