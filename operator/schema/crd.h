// The CustomResourceDefinition of disttrainings.espalier.io. crds/disttrainings.yaml is what CrdYaml prints (the
// program espalier-crd writes it); a test holds them together.
#pragma once

#include <string>

#include "operator/schema/field_schema.h"

namespace espalier::ctl::schema {

OrderedJson Crd();
std::string CrdYaml();

}  // namespace espalier::ctl::schema
