// Every file is recorded in files_ with its size and checksums when it is written; Commit writes the list as the
// manifest. The manifest is the commit point: Open first deletes a manifest of the same incarnation, and Commit
// replaces the manifest of an older incarnation only after all files of this incarnation are in the store. Hence a
// manifest in the store never refers to incomplete files. metrics.jsonl and the event file grow during the run, so
// Commit adds them to the list.
#include "services/trainer/outputs.h"

#include <chrono>

#include "services/base/failpoint.h"
#include "services/format/files/checksum.h"
#include "services/format/files/safetensors.h"
#include "services/storage/object_key.h"
#include "services/telemetry/log.h"
#include "services/trainer/evaluation/metrics.h"
#include "services/trainer/model/parameters.h"
#include "services/trainer/results/event_file.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using storage::JoinKey;

double GetWallSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<std::string> ListKeys(const std::vector<storage::ObjectInfo>& objects) {
  std::vector<std::string> keys;
  for (const storage::ObjectInfo& object : objects) keys.push_back(object.key);
  return keys;
}

// Returns the scalars of an epoch. TensorBoard groups tags by the text before the slash.
Scalars ListScalars(const EpochReport& report, const RunFacts& facts) {
  Scalars scalars;
  scalars.wall_seconds = GetWallSeconds();
  scalars.global_step = (int64_t{report.epoch} + 1) * facts.steps_per_epoch;
  scalars.values = {{"train/loss", report.loss}, {"train/learning_rate", report.learning_rate}};
  if (report.validation.has_value()) {
    scalars.values.emplace_back(std::string("validation/") + trainer::ToString(facts.job.training.evaluation.metric),
                                *report.validation);
  }
  const SecondsSplit& seconds = report.seconds;
  for (const auto& [part, value] :
       std::initializer_list<std::pair<const char*, double>>{{"total", report.total_seconds},
                                                             {"sample", seconds.sample},
                                                             {"fetch", seconds.fetch},
                                                             {"wait", seconds.wait},
                                                             {"compute", seconds.compute},
                                                             {"communicate", seconds.communicate},
                                                             {"evaluate", seconds.evaluate}}) {
    scalars.values.emplace_back(std::string("seconds/") + part, value);
  }
  return scalars;
}

}  // namespace

Outputs::Outputs(storage::StoreLocation to, RunFacts facts)
    : to_(std::move(to)),
      facts_(std::move(facts)),
      folder_(JoinKey(to_.prefix, format::ResultsFolder(facts_.incarnation))) {}

Result<std::unique_ptr<Outputs>> Outputs::Open(storage::StoreLocation to, RunFacts facts) {
  std::unique_ptr<Outputs> outputs(new Outputs(std::move(to), std::move(facts)));
  RETURN_IF_ERROR(outputs->RemoveStaleFiles().While("preparing the outputs in " + outputs->store().Describe()));
  storage::ObjectStore& store = outputs->store();
  ASSIGN_OR_RETURN(outputs->metrics_, GrowingObject::Open(store, outputs->folder_ + "/metrics.jsonl"));
  const std::string events = outputs->folder_ + "/tensorboard/" + EventFileName(outputs->facts_.incarnation);
  ASSIGN_OR_RETURN(outputs->events_, GrowingObject::Open(store, events));
  RETURN_IF_ERROR(outputs->events_->Append(EventFileHeader(GetWallSeconds())));
  return outputs;
}

// Removes the manifest, the result and the files of an earlier run with the same incarnation number.
Status Outputs::RemoveStaleFiles() {
  ASSIGN_OR_RETURN(const std::optional<format::OutputsManifest> committed,
                   format::ReadReplaceableOutputs(*to_.store, to_.prefix, facts_.incarnation));
  if (!committed.has_value() || committed->incarnation == facts_.incarnation) {
    RETURN_IF_ERROR(to_.store->Delete(JoinKey(to_.prefix, "manifest.json")));
    RETURN_IF_ERROR(to_.store->Delete(JoinKey(to_.prefix, "result.json")));
  }
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> leftovers, to_.store->List(folder_ + "/"));
  return leftovers.empty() ? Status() : to_.store->DeleteMany(ListKeys(leftovers));
}

Status Outputs::AppendEpoch(const EpochReport& report) {
  const Status line = metrics_->Append(EpochJson(report, facts_.job.training.evaluation.metric) + "\n");
  const Status scalars = events_->Append(ScalarsRecord(ListScalars(report, facts_)));
  return line.ok() ? scalars : line;
}

Status Outputs::Flush() {
  RETURN_IF_ERROR(Failpoint("outputs.flush"));
  const Status metrics = metrics_->Flush();
  const Status events = events_->Flush();
  return metrics.ok() ? events : metrics;
}

void Outputs::FlushSoon() {
  metrics_->FlushSoon();
  events_->FlushSoon();
}

Status Outputs::WriteModel(const std::string& name, const NamedTensors& state) {
  const std::string key = folder_ + "/model/" + name + ".safetensors";
  format::Safetensors file;
  file.metadata = ModelMetadata(facts_);
  for (const auto& [tensor_name, tensor] : state) file.tensors[tensor_name] = FromTorch(tensor);
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> object, to_.store->Put(key));
  format::HashingWriter writer(std::move(object));
  RETURN_IF_ERROR(format::WriteSafetensors(file, writer));
  RETURN_IF_ERROR(writer.Commit());
  AddFiles({{writer.Entry(key), "model", std::nullopt, {}}});
  return Status();
}

Status Outputs::WriteTorchScript(const std::string& name, const std::string& archive) {
  return PutFile("model/" + name + ".pt", "model", archive);
}

Status Outputs::PutFile(const std::string& name, const std::string& kind, const std::string& content) {
  const std::string key = folder_ + "/" + name;
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> object, to_.store->Put(key));
  format::HashingWriter writer(std::move(object));
  RETURN_IF_ERROR(writer.Write(std::as_bytes(std::span(content))));
  RETURN_IF_ERROR(writer.Commit());
  AddFiles({{writer.Entry(key), kind, std::nullopt, {}}});
  return Status();
}

// The keys of `files` include the job's prefix; those of the manifest do not.
void Outputs::AddFiles(const std::vector<format::OutputFile>& files) {
  for (format::OutputFile file : files) {
    if (!to_.prefix.empty()) file.file.key.erase(0, to_.prefix.size() + 1);
    files_[file.file.key] = file;
  }
}

Status Outputs::Commit(const TrainOutcome& outcome) {
  RETURN_IF_ERROR(Flush());
  AddFiles({{metrics_->Entry(), "metrics", std::nullopt, {}}, {events_->Entry(), "events", std::nullopt, {}}});
  format::OutputsManifest manifest;
  manifest.incarnation = facts_.incarnation;
  for (const auto& [key, file] : files_) manifest.files.push_back(file);
  manifest.not_written = not_written_;
  manifest.result_json = ResultJson(facts_, outcome, not_written_);
  RETURN_IF_ERROR(Failpoint("outputs.before_manifest"));
  RETURN_IF_ERROR(format::CommitOutputs(*to_.store, to_.prefix, manifest).While("committing the outputs"));
  RETURN_IF_ERROR(Failpoint("outputs.after_manifest"));
  RETURN_IF_ERROR(format::WriteResultJson(*to_.store, to_.prefix, manifest));
  const Status removed = format::RemoveOlderResults(*to_.store, to_.prefix, facts_.incarnation);
  if (!removed.ok()) telemetry::Log(telemetry::Level::kWarning, "older results were not deleted", {{"error", removed}});
  return Status();
}

}  // namespace espalier::trainer
