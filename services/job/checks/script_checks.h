// Checks of the relations between the fields of a program's script.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/job/dist_training.h"

namespace espalier::job {

// Returns whether `path` is relative and stays in its folder: no empty, "." or ".." part, no backslash and no control
// character. The entries of an archive must be such paths, too.
bool IsPathWithin(std::string_view path);

// Returns the errors of `program.script`, which must have a value, each as (field below spec.trainers.program, error
// message). The schema of the resource has the same rules (operator/schema/rules.cc).
std::vector<std::pair<std::string, std::string>> ScriptProblems(const Program& program);

}  // namespace espalier::job
