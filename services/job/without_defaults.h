// A document as short as it can be said.
#pragma once

#include <string>

namespace espalier::job {

// `document_json`, an effective document (parse.h) or parts of one, without what the table's defaults put back: it
// parses to the same value. A program of an earlier version, whose table lacks a field, reads it as long as the field
// has its default.
std::string WithoutDefaults(const std::string& document_json);

}  // namespace espalier::job
