// Defaults that an administrator sets for the pods of all jobs. They are partial pod templates, merged into the
// operator's pods before the document's fields and templates (docs/decisions/0028-defaults-are-pod-templates.md).
#pragma once

#include <array>
#include <vector>

#include "operator/api/dist_training.h"

namespace espalier::ctl::resources {

struct JobDefaults {
  // By role, the templates to merge, one after the other. In them, kProgramContainer is already replaced by the name of
  // the role's container.
  std::array<std::vector<kube::Json>, api::kRoles.size()> templates;
  kube::Json document;  // the input of ParseJobDefaults; null: no defaults
};

// In the input of ParseJobDefaults, stands for the name of the container that runs the role's program, so that one
// template can be for all roles.
inline constexpr char kProgramContainer[] = "program";

// Parses {template: {...}, partitioner|servers|samplers|trainers: {template: {...}}}. All fields are optional; a
// template is a partial PodTemplateSpec. Returns InvalidArgument, with the field's name, if a field is unknown or
// invalid.
Result<JobDefaults> ParseJobDefaults(const kube::Json& document);

}  // namespace espalier::ctl::resources
