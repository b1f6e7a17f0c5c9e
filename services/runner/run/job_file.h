// The document as the processes of a run read it: every path absolute, every place that `run` decides filled in.
#pragma once

#include <string>
#include <vector>

#include "services/job/parse.h"
#include "services/runner/run/run_folder.h"

namespace espalier::run {

struct RunJob {
  job::DistTraining training;
  std::string json;
  std::vector<std::string> ignored;  // fields that `run` does not use
  job::DocumentPlaces places;        // of the user's document, of which json was made
};

// Reads the document and applies "path=value" settings. Errors are those of the document (exit code 64). An empty path:
// the settings are the whole spec, of a job with the name "program".
Result<job::ParsedJob> ReadJobFile(const std::string& path, const std::vector<std::string>& settings,
                                   job::RunsOn runs_on = job::RunsOn::kLaptop,
                                   job::SpecTraining training = job::SpecTraining::kRequired);

// Relative paths start at the working directory. Outputs and checkpoints go to the document's bucket where it names
// one (then output_uri is that), else to the folder; partitions beside them unless the document says otherwise.
Result<RunJob> PlaceJob(const job::ParsedJob& parsed, const RunFolder& folder);

}  // namespace espalier::run
