// The CustomResourceDefinition of disttrainings.espalier.io. The program espalier-crd prints it as YAML for
// crds/disttrainings.yaml; a test checks that the file is up to date.
#pragma once

#include <string>

#include "operator/schema/field_schema.h"

namespace espalier::ctl::schema {

// Returns the definition.
OrderedJson Crd();
// Returns the contents of crds/disttrainings.yaml: the definition after a comment on how the file is made.
std::string CrdYaml();

}  // namespace espalier::ctl::schema
