// Document -> DistTraining. YAML 1.1 and JSON; what the two YAML versions read differently is refused.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/job/dist_training.h"
#include "services/job/document_places.h"
#include "services/job/runs_on.h"

namespace espalier::job {

struct ParsedJob {
  DistTraining training;
  std::vector<std::string> ignored;  // paths of valid fields that only a cluster uses; empty on a cluster
  std::string effective_json;        // the document with overrides and defaults applied: parses to the same value
  DocumentPlaces places;             // of its fields and the overrides
};

// `overrides` are ("spec.training.seed", "7") pairs, values in YAML. All violations at once, one per line:
// "job.yaml:12:5: spec.training.epochs: expected an integer from 0 to 100000, found 'many'".
// A document without spec.training, where that is allowed, has has_training false and the training's defaults.
// An empty file name: without places, "spec.training.epochs: expected ...".
Result<ParsedJob> ParseJob(const std::string& file_name, const std::string& text,
                           const std::vector<std::pair<std::string, std::string>>& overrides,
                           RunsOn runs_on = RunsOn::kLaptop, SpecTraining training = SpecTraining::kRequired);

}  // namespace espalier::job
