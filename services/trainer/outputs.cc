#include "services/trainer/outputs.h"

#include <cerrno>
#include <filesystem>

#include "services/format/safetensors.h"
#include "services/storage/file_store.h"
#include "services/telemetry/process.h"
#include "services/trainer/parameters.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {

Outputs::Outputs(std::string dir, RunFacts facts, std::FILE* metrics)
    : dir_(std::move(dir)), facts_(std::move(facts)), metrics_(metrics) {}

Result<std::unique_ptr<Outputs>> Outputs::Open(const std::string& dir, RunFacts facts) {
  std::error_code error;
  std::filesystem::create_directories(dir + "/model", error);
  if (error) return FromErrno(error.value(), "making the folder " + dir + "/model");
  std::filesystem::remove(dir + "/result.json", error);
  if (error) return FromErrno(error.value(), "removing " + dir + "/result.json");
  std::FILE* metrics = std::fopen((dir + "/metrics.jsonl").c_str(), "w");
  if (metrics == nullptr) return FromErrno(errno, "opening " + dir + "/metrics.jsonl");
  return std::unique_ptr<Outputs>(new Outputs(dir, std::move(facts), metrics));
}

Status Outputs::AppendEpoch(const EpochReport& report) {
  const std::string line = EpochJson(report, facts_.job.training.evaluation.metric) + "\n";
  if (std::fputs(line.c_str(), metrics_.get()) < 0 || std::fflush(metrics_.get()) != 0) {
    return FromErrno(errno, "writing " + dir_ + "/metrics.jsonl");
  }
  return Status();
}

Status Outputs::WriteModel(const std::string& name, const NamedTensors& state) {
  format::Safetensors file;
  file.metadata = ModelMetadata(facts_);
  for (const auto& [tensor_name, tensor] : state) file.tensors[tensor_name] = FromTorch(tensor);
  storage::FileStore store(dir_);
  ASSIGN_OR_RETURN(const std::unique_ptr<storage::ObjectWriter> writer, store.Put("model/" + name + ".safetensors"));
  RETURN_IF_ERROR(format::WriteSafetensors(file, *writer));
  return writer->Commit();
}

Status Outputs::WriteResult(const TrainOutcome& outcome) {
  return telemetry::WriteFileAtomically(dir_ + "/result.json", ResultJson(facts_, outcome));
}

}  // namespace espalier::trainer
