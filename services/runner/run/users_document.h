// In error messages, replaces positions in job.json by positions in the user's document. The processes of a run read
// job.json, which is generated from the user's document, so their messages refer to lines that the user has not
// written.
#pragma once

#include <string>

#include "services/job/text/document_places.h"

namespace espalier::run {

// Returns `text` with translated positions: in each line that begins with a position in `job_file`
// ("<job_file>:12:5: spec.a.b: ..."), this position is replaced by the position of the same field in the user's
// document ("job.yaml:3:9: spec.a.b: ..."). A status code ("INVALID_ARGUMENT: ") may precede the position in
// `job_file`; it is then removed. Other lines are unchanged.
std::string TranslatePositions(const std::string& text, const std::string& job_file, const job::DocumentPlaces& places);

}  // namespace espalier::run
