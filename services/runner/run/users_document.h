// The processes of a run read job.json, which the run has made of the user's document: what they say of a place in it
// is of use to the user as a place in the document.
#pragma once

#include <string>

#include "services/job/document_places.h"

namespace espalier::run {

// Lines that begin with a place in `job_file` ("<job_file>:12:5: spec.a.b: ..."), with the place of the same field in
// the user's document instead ("job.yaml:3:9: spec.a.b: ..."). Other lines stay.
std::string SaidOfUsersDocument(const std::string& text, const std::string& job_file,
                                const job::DocumentPlaces& places);

}  // namespace espalier::run
