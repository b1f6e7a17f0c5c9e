// Reads the user's document and converts it to job.json, the document that the processes of a run read: all paths are
// absolute, and the locations that `espalier run` decides are filled in.
#pragma once

#include <string>
#include <vector>

#include "services/job/parsing/parse.h"
#include "services/runner/run/run_folder.h"

namespace espalier::run {

struct RunJob {
  job::DistTraining training;
  std::string json;                  // content of job.json
  std::vector<std::string> ignored;  // fields that `run` does not use
  job::DocumentPlaces places;        // lines and columns of the fields in the user's document
};

// Reads the document and applies the settings, each "path=value". All errors are the user's (exit code 64). With an
// empty path, the settings are the whole spec, and the job's name is "program".
Result<job::ParsedJob> ReadJobFile(const std::string& path, const std::vector<std::string>& settings,
                                   job::ReadBy read_by = job::ReadBy::kRunOrRole,
                                   job::SpecTraining training = job::SpecTraining::kRequired);

// Fills in all locations. Relative paths are relative to the working directory. Outputs and checkpoints go to
// spec.output.uri if it is in a bucket, otherwise to the folder. Partitions go to partitions/ below the same location
// unless the document names another. InvalidArgument if the document needs a cluster or a path is not UTF-8.
Result<RunJob> PlaceJob(const job::ParsedJob& parsed, const RunFolder& folder);

}  // namespace espalier::run
