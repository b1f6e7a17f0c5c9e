// Parses a job document, in YAML or JSON, into a DistTraining. Scalars that YAML 1.1 and YAML 1.2 read differently are
// errors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/job/dist_training.h"
#include "services/job/runs_on.h"
#include "services/job/text/document_places.h"

namespace espalier::job {

struct ParsedJob {
  DistTraining training;
  std::vector<std::string> ignored;  // paths of valid fields that only a cluster uses; empty on a cluster
  std::string effective_json;        // the document with overrides and defaults; parses to the same DistTraining
  DocumentPlaces places;             // positions of the document's fields and of the overrides
};

// Returns the checked document `text` with defaults and with `overrides`: pairs such as ("spec.training.seed", "7"),
// with values in YAML. InvalidArgument lists all violations, one per line:
// "job.yaml:12:5: spec.training.epochs: expected an integer from 0 to 100000, found 'many'". If `file_name` is empty,
// the lines have no position: "spec.training.epochs: expected ...".
// For a document without spec.training, if `spec_training` allows that, DistTraining::has_training is false and
// DistTraining::training has its initial values.
Result<ParsedJob> ParseJob(const std::string& file_name, const std::string& text,
                           const std::vector<std::pair<std::string, std::string>>& overrides,
                           RunsOn runs_on = RunsOn::kLaptop, SpecTraining spec_training = SpecTraining::kRequired);

}  // namespace espalier::job
