// The schema of `status`, as operator/api/status.h prints it. An API server drops what the schema does not know without
// a word, so a test puts a full status through it.
#pragma once

#include "operator/schema/field_schema.h"

namespace espalier::ctl::schema {

OrderedJson StatusSchema();

}  // namespace espalier::ctl::schema
