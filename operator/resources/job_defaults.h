// What an administrator gives the pods of every job: partial pod templates between what the operator makes and what the
// document says (docs/decisions/0028-defaults-are-pod-templates.md).
#pragma once

#include <array>
#include <vector>

#include "operator/api/dist_training.h"

namespace espalier::ctl::resources {

struct JobDefaults {
  // By role, to be merged in this order. The role's program container has its own name in them.
  std::array<std::vector<kube::Json>, api::kRoles.size()> templates;
  kube::Json document;  // as it was given; null: there are none
};

// The name of the role's own container in a template for all roles.
inline constexpr char kProgramContainer[] = "program";

// Of {template: {...}, partitioner|servers|samplers|trainers: {template: {...}}}, all of which may be missing; a
// template is a partial PodTemplateSpec. InvalidArgument names the field.
Result<JobDefaults> ParseJobDefaults(const kube::Json& document);

}  // namespace espalier::ctl::resources
