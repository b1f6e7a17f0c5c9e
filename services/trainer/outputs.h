// The files of a run (docs/outputs.md), below results/<incarnation>/ of the job's prefix:
//   metrics.jsonl                 a line per epoch, as it ends
//   tensorboard/events...         the same numbers for TensorBoard
//   model/last.safetensors        parameters and buffers after the last step
//   model/best.safetensors        those of the best validation metric
//   model/best.pt                 the same model as TorchScript, if asked for and where it can be
// (embeddings/, predictions/ and logits/: node_results.h.) result.json and manifest.json stand at the prefix itself;
// the manifest is written last: where it is, the run has succeeded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/format/outputs_manifest.h"
#include "services/storage/open_store.h"
#include "services/trainer/ops/math_setup.h"
#include "services/trainer/optim/optimizers.h"
#include "services/trainer/results/growing_object.h"
#include "services/trainer/training_loop.h"

namespace espalier::trainer {

struct TrainOutcome;

// What results say about the run itself.
struct RunFacts {
  job::DistTraining job;
  std::string graph_name;
  MathSettings math;
  uint64_t num_nodes = 0;
  uint64_t num_edges = 0;
  uint32_t num_partitions = 0;
  uint32_t num_trainers = 0;
  uint32_t steps_per_epoch = 0;
  int64_t num_outputs = 0;
  int64_t num_edge_outputs = 0;               // of a head for edges; 0: there is none
  std::string module_sha256;                  // of the user's module; empty: a model of ours
  std::vector<std::string> scorer_relations;  // ListScorerRelations (link_task.h)
  std::string collective;                     // Collective::backend()
  uint64_t incarnation = 0;
};

// ("test", kAccuracy) -> "testAccuracy": the name of a metric in results.
std::string ResultKey(const std::string& part, job::Metric metric);
// One line of metrics.jsonl.
std::string EpochJson(const EpochReport& report, job::Metric metric);
// `not_written`: outputs that were asked for and cannot be, with the reason.
std::string ResultJson(const RunFacts& facts, const TrainOutcome& outcome,
                       const std::map<std::string, std::string>& not_written = {});
// A model file's "__metadata__": what one must know to build the model that the parameters belong to.
std::map<std::string, std::string> ModelMetadata(const RunFacts& facts);

// The same for node results: whose they are.
std::map<std::string, std::string> NodeResultAttributes(const RunFacts& facts);

// Rank 0's. Owned by one thread.
class Outputs {
 public:
  // Removes what an earlier run of the same incarnation left and begins metrics.jsonl and the event file.
  // FailedPrecondition where a newer incarnation has committed its outputs.
  static Result<std::unique_ptr<Outputs>> Open(storage::StoreLocation to, RunFacts facts);

  // Of an epoch that has ended, in this incarnation or (after a resume) in one before: history comes first.
  Status AppendEpoch(const EpochReport& report);
  // What was appended is in the store.
  Status Flush();
  // Begins to put it there, in the background.
  void FlushSoon();
  // model/<name>.safetensors, whole or not at all. The metadata says how to build the model again.
  Status WriteModel(const std::string& name, const NamedTensors& state);
  // model/<name>.pt
  Status WriteTorchScript(const std::string& name, const std::string& archive);
  // Files that others have written below folder().
  void AddFiles(const std::vector<format::OutputFile>& files);
  void SayNotWritten(const std::string& what, const std::string& why) { not_written_[what] = why; }
  // result.json, then the manifest over that of an older incarnation; then the files of older incarnations go, which
  // may fail with a warning.
  Status Commit(const TrainOutcome& outcome);

  storage::ObjectStore& store() { return *to_.store; }
  // The key prefix of this incarnation's files.
  const std::string& folder() const { return folder_; }

 private:
  Outputs(storage::StoreLocation to, RunFacts facts);
  Status MakeRoom();
  Status PutFile(const std::string& name, const std::string& kind, const std::string& content);

  const storage::StoreLocation to_;
  const RunFacts facts_;
  const std::string folder_;
  std::unique_ptr<GrowingObject> metrics_;
  std::unique_ptr<GrowingObject> events_;
  std::map<std::string, format::OutputFile> files_;  // by key
  std::map<std::string, std::string> not_written_;
};

}  // namespace espalier::trainer
