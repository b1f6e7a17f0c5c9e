// Removes defaults from a document.
#pragma once

#include <string>

namespace espalier::job {

// Returns `document_json`, an effective document (parse.h) or parts of one, without the fields that have the default of
// the field table. The result parses to the same value. An earlier version of the program, which does not know a newer
// field, can read it as long as that field has its default.
std::string WithoutDefaults(const std::string& document_json);

}  // namespace espalier::job
