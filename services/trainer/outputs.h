// The files of a run, below its output folder:
//   metrics.jsonl                 a line per epoch, as it ends
//   model/last.safetensors        parameters and buffers after the last step
//   model/best.safetensors        those of the best validation metric
//   result.json                   written last: where it is, the run has succeeded
// (embeddings/, predictions/ and logits/: node_results.h.)
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "services/trainer/math_setup.h"
#include "services/trainer/optimizers.h"
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
  uint64_t incarnation = 0;
};

// ("test", kAccuracy) -> "testAccuracy": the name of a metric in results.
std::string ResultKey(const std::string& part, job::Metric metric);
// One line of metrics.jsonl.
std::string EpochJson(const EpochReport& report, job::Metric metric);
std::string ResultJson(const RunFacts& facts, const TrainOutcome& outcome);
// A model file's "__metadata__": what one must know to build the model that the parameters belong to.
std::map<std::string, std::string> ModelMetadata(const RunFacts& facts);

// The same for node results: whose they are.
std::map<std::string, std::string> NodeResultAttributes(const RunFacts& facts);

// Rank 0's. Owned by one thread.
class Outputs {
 public:
  // Makes the folders; begins a new metrics.jsonl and removes an older result.json.
  static Result<std::unique_ptr<Outputs>> Open(const std::string& dir, RunFacts facts);

  Status AppendEpoch(const EpochReport& report);
  // model/<name>.safetensors, whole or not at all. The metadata says how to build the model again.
  Status WriteModel(const std::string& name, const NamedTensors& state);
  Status WriteResult(const TrainOutcome& outcome);

  const std::string& dir() const { return dir_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Outputs(std::string dir, RunFacts facts, std::FILE* metrics);

  const std::string dir_;
  const RunFacts facts_;
  std::unique_ptr<std::FILE, Closer> metrics_;
};

}  // namespace espalier::trainer
