// A document's tree against the field table: names, types, ranges, defaults. What comes out has every field that
// has a value, typed, under its path; what relates fields to each other is cross_checks.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/job/document_places.h"
#include "services/job/field_table.h"
#include "services/job/runs_on.h"
#include "services/job/violations.h"
#include "services/job/yaml_tree.h"

namespace espalier::job {

struct CheckedDocument {
  nlohmann::ordered_json values;     // in the table's order, defaults filled in
  FieldPositions positions;          // of what was written
  std::vector<std::string> ignored;  // paths of cluster-only fields, on a laptop
};

// Violations go to `violations`; the result is usable only if there are none.
CheckedDocument CheckFields(const YamlNode& root, RunsOn runs_on, SpecTraining training, Violations* violations);

}  // namespace espalier::job
