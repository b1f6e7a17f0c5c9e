// Removes defaults from a document.
#pragma once

#include <string>

namespace espalier::job {

// Returns `document_json`, an effective document (parse.h) or a part of one, without the fields that have the default
// of the field table. The result parses to the same value. An earlier version of Espalier can parse the result even
// if the document has fields that the earlier version does not know, as long as these fields have their defaults.
std::string WithoutDefaults(const std::string& document_json);

}  // namespace espalier::job
