// Checks the fields of a document's tree one by one against the field table (names, types and ranges) and fills in
// defaults. check_rules.h checks relations between fields.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/job/fields/field_table.h"
#include "services/job/read_by.h"
#include "services/job/text/document_places.h"
#include "services/job/text/violations.h"
#include "services/job/text/yaml_tree.h"

namespace espalier::job {

struct CheckedDocument {
  nlohmann::ordered_json values;     // all fields that have a value, typed, in the order of the table, with defaults
  FieldPositions positions;          // of the fields and list items in the document
  std::vector<std::string> ignored;  // paths of the cluster-only fields in the document; empty for kOperator
};

// Returns the checked fields of the document `root`. `spec_training` says whether spec.training is required. Adds all
// errors to `violations`; the result is usable only if there are none.
CheckedDocument CheckFields(const YamlNode& root, ReadBy read_by, SpecTraining spec_training, Violations* violations);

}  // namespace espalier::job
