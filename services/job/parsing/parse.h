// Parses a job document, in YAML or JSON, into a DistTraining. Scalars that YAML 1.1 and YAML 1.2 read differently are
// errors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/job/dist_training.h"
#include "services/job/read_by.h"
#include "services/job/text/document_places.h"

namespace espalier::job {

struct ParsedJob {
  DistTraining training;
  std::vector<std::string> ignored;  // paths of valid cluster-only fields; empty for ReadBy::kOperator
  std::string effective_json;        // the document with overrides and defaults; parses to the same DistTraining
  DocumentPlaces places;             // positions of the document's fields and of the overrides
};

// Returns the checked document `text` with defaults and with `overrides`: pairs such as ("spec.training.seed", "7"),
// with values in YAML. InvalidArgument lists the violations, one per line and at most 100:
// "job.yaml:12:5: spec.training.epochs: expected an integer from 0 to 100000, found 'many'". If `file_name` is empty,
// the lines have no position: "spec.training.epochs: expected ...". Fields are checked only if the YAML has no errors,
// and rules between fields only if all fields are valid.
// If `spec_training` allows a document without spec.training, such a document gives DistTraining::has_training == false
// and the initial values of DistTraining::training.
Result<ParsedJob> ParseJob(const std::string& file_name, const std::string& text,
                           const std::vector<std::pair<std::string, std::string>>& overrides,
                           ReadBy read_by = ReadBy::kRunOrRole, SpecTraining spec_training = SpecTraining::kRequired);

// Reads the file and parses it without overrides. Errors of ReadDocument and ParseJob.
Result<ParsedJob> ReadJob(const std::string& path);

}  // namespace espalier::job
