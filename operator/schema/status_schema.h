// The schema of the `status` that operator/api/status.h prints. An API server silently drops fields that are not in the
// schema, so a test checks the schema with a complete status.
#pragma once

#include "operator/schema/field_schema.h"

namespace espalier::ctl::schema {

OrderedJson StatusSchema();

}  // namespace espalier::ctl::schema
