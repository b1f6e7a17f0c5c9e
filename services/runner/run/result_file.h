// Completes DIR/result.json: the result of the trainer or program plus facts about the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/runner/run/job_file.h"

namespace espalier::run {

struct RunFacts {
  std::string partition_key;
  std::string partition_uri;
  std::string access;
  std::vector<std::string> warnings;          // of the partitioning
  std::optional<std::string> samples_digest;  // set with --audit, unless the run was resumed or trainers were restarted
  uint64_t num_expansions = 0;                // distinct expansions in the digest; 0 without a digest
  uint64_t incarnation = 0;                   // the incarnation that wrote the outputs
  int64_t trainer_restarts = 0;               // restarts of the whole group
  int64_t service_restarts = 0;               // of partitioners, servers and samplers
  double total_seconds = 0;
};

// Adds the facts to the trainer's result and replaces the file; returns the new content. Fields that the trainer wrote
// itself are kept, except for those about the run, which are replaced. Internal if the trainer left no result or one
// that is not a JSON object.
Result<std::string> CompleteResult(const RunFolder& folder, const RunJob& job, const RunFacts& facts);

struct ProgramResult {
  std::string json;  // the new content of the file
  std::string note;  // message for the user; empty if there is none
};

// As CompleteResult, for the result of a user's program; also adds `program`, the command. A result.json is optional. A
// run whose ranks have all succeeded must not fail because of an invalid result.json, so a file that is not a JSON
// object is renamed to result.json.INCARNATION, and the note reports this.
Result<ProgramResult> WriteProgramResult(const RunFolder& folder, const RunJob& job, const RunFacts& facts,
                                         const std::vector<std::string>& program);

// Returns the lines that a successful run prints: the metrics of the task and the paths of the outputs.
std::vector<std::string> SummaryLines(const std::string& result_json, const RunFolder& folder,
                                      const std::string& output_uri);

}  // namespace espalier::run
