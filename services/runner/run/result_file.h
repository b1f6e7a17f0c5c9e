// DIR/result.json: what the trainer wrote, and what only the run knows.
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
  std::optional<std::string> samples_digest;  // with --audit
  uint64_t num_expansions = 0;
  uint64_t incarnation = 0;      // that made the outputs
  int64_t trainer_restarts = 0;  // of the whole group
  int64_t service_restarts = 0;  // of the partitioner, servers and samplers
  double total_seconds = 0;
};

// Adds the facts to the trainer's result (fields that it wrote itself stay) and replaces the file. NotFound where
// the trainer left none. The document that was written.
Result<std::string> CompleteResult(const RunFolder& folder, const RunJob& job, const RunFacts& facts);

struct ProgramResult {
  std::string json;  // the document that was written
  std::string note;  // for people; empty: nothing to say
};

// The same where the trainers were a user's program: what it has left itself as result.json, if anything, stands.
// Where that is no JSON object, it is kept as result.json.INCARNATION, which the note says: a run whose ranks have all
// ended well does not fail for it.
Result<ProgramResult> WriteProgramResult(const RunFolder& folder, const RunJob& job, const RunFacts& facts,
                                         const std::vector<std::string>& program);

// The lines a run ends with: the task's metrics and where the outputs lie.
std::vector<std::string> SummaryLines(const std::string& result_json, const RunFolder& folder,
                                      const std::string& output_uri);

}  // namespace espalier::run
