// The output files of a run (docs/outputs.md), below results/<incarnation>/ in the job's prefix:
//   metrics.jsonl                 one line per epoch, appended when the epoch ends
//   tensorboard/events...         loss, learning rate, validation metric and seconds, for TensorBoard
//   model/last.safetensors        parameters and buffers after the last step
//   model/best.safetensors        the best model: parameters and buffers with the best validation metric; without
//                                 validation metrics or with learnable rows, those after the last step
//   model/best.pt                 the best model as TorchScript, if requested and possible
// node_results.h and edge_results.h describe embeddings/, predictions/ and logits/. result.json and manifest.json are
// directly below the prefix. The manifest commits the outputs: it is written after all files that it lists, and only
// if the run has succeeded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/format/results/outputs_manifest.h"
#include "services/storage/open_store.h"
#include "services/trainer/ops/math_setup.h"
#include "services/trainer/optim/optimizers.h"
#include "services/trainer/results/growing_object.h"
#include "services/trainer/task/task_facts.h"
#include "services/trainer/training_loop.h"

namespace espalier::trainer {

struct TrainOutcome;

// Facts about the run that are recorded in its results.
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
  TaskFacts task;             // from Task::Facts
  std::string module_sha256;  // of the user's module; empty for a built-in model
  std::string collective;     // from Collective::backend()
  uint64_t incarnation = 0;
};

// Returns the name of a metric in results: ("test", kAccuracy) -> "testAccuracy".
std::string ResultKey(const std::string& part, job::Metric metric);
// Returns one line of metrics.jsonl, without the newline.
std::string EpochJson(const EpochReport& report, job::Metric metric);
// Returns the text of result.json. `not_written` maps each requested output that could not be written to the reason.
std::string ResultJson(const RunFacts& facts, const TrainOutcome& outcome,
                       const std::map<std::string, std::string>& not_written = {});
// Returns the "__metadata__" of a model file: the settings from which its model can be built.
std::map<std::string, std::string> ModelMetadata(const RunFacts& facts);

// Returns the attributes of node and edge results: the model's metadata, the job and the graph.
std::map<std::string, std::string> NodeResultAttributes(const RunFacts& facts);

// Writes the output files. Only rank 0 has an instance. Owned by one thread.
class Outputs {
 public:
  // Removes the files of an earlier run with the same incarnation number, and creates metrics.jsonl and the event file.
  // FailedPrecondition if a newer incarnation has committed its outputs.
  static Result<std::unique_ptr<Outputs>> Open(storage::StoreLocation to, RunFacts facts);

  // Appends a finished epoch to metrics.jsonl and the event file. A resumed run first appends the epochs of its
  // checkpoint.
  Status AppendEpoch(const EpochReport& report);
  // Blocks until everything appended is in the store.
  Status Flush();
  // Starts uploading the appended data in the background.
  void FlushSoon();
  // Writes model/<name>.safetensors atomically, with ModelMetadata.
  Status WriteModel(const std::string& name, const NamedTensors& state);
  // Writes model/<name>.pt atomically.
  Status WriteTorchScript(const std::string& name, const std::string& archive);
  // Adds files that the caller has written below folder() to the manifest.
  void AddFiles(const std::vector<format::OutputFile>& files);
  // Records in result.json and the manifest why a requested output was not written.
  void RecordNotWritten(const std::string& output, const std::string& reason) { not_written_[output] = reason; }
  // Flushes, writes the manifest, which replaces that of an older incarnation, then writes result.json. Finally removes
  // the files of older incarnations; a failure of the removal is only logged.
  Status Commit(const TrainOutcome& outcome);

  storage::ObjectStore& store() { return *to_.store; }
  // Returns the key prefix of this incarnation's files.
  const std::string& folder() const { return folder_; }

 private:
  Outputs(storage::StoreLocation to, RunFacts facts);
  Status RemoveStaleFiles();
  Status PutFile(const std::string& name, const std::string& kind, const std::string& content);

  const storage::StoreLocation to_;
  const RunFacts facts_;
  const std::string folder_;
  std::unique_ptr<GrowingObject> metrics_;
  std::unique_ptr<GrowingObject> events_;
  std::map<std::string, format::OutputFile> files_;  // by key
  std::map<std::string, std::string> not_written_;   // output -> reason
};

}  // namespace espalier::trainer
