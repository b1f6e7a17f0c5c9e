// What every role has in the document and only a cluster uses: a pod's part of the world.
#include "services/job/field_table.h"

namespace espalier::job {

void AppendRoleFields(const std::string& role_path, std::vector<FieldSpec>* table) {
  using enum FieldType;
  const auto add = [&](FieldSpec field) {
    field.path = role_path + "." + field.path;
    field.availability = Availability::kClusterOnly;
    table->push_back(std::move(field));
  };
  add({.path = "image", .type = kString, .max_length = 512, .meaning = "container image"});
  add({.path = "resources", .meaning = "what a pod asks for and may use"});
  add({.path = "resources.requests", .type = kQuantities, .maximum_items = 32, .meaning = "asked for"});
  add({.path = "resources.limits", .type = kQuantities, .maximum_items = 32, .meaning = "at most"});
  add({.path = "env",
       .is_list = true,
       .maximum_items = 100,
       .list_key = "name",
       .meaning = "environment of the container"});
  add({.path = "env[].name", .type = kString, .required = true, .max_length = 256, .meaning = "variable"});
  add({.path = "env[].value", .type = kString, .max_length = 32768, .meaning = "its value"});
  add({.path = "env[].valueFrom", .type = kFreeObject, .meaning = "where its value comes from, in place of `value`"});
  add({.path = "nodeSelector",
       .type = kStringMap,
       .maximum_items = 64,
       .max_length = 63,
       .meaning = "labels of nodes it may run on"});
  add({.path = "tolerations", .is_list = true, .maximum_items = 64, .meaning = "taints it bears"});
  add({.path = "tolerations[].key", .type = kString, .max_length = 316, .meaning = "taint"});
  add({.path = "tolerations[].operator", .type = kEnum, .values = {"Exists", "Equal"}, .meaning = "comparison"});
  add({.path = "tolerations[].value", .type = kString, .max_length = 63, .meaning = "value of the taint"});
  add({.path = "tolerations[].effect",
       .type = kEnum,
       .values = {"NoSchedule", "PreferNoSchedule", "NoExecute"},
       .meaning = "effect borne"});
  add({.path = "tolerations[].tolerationSeconds",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "for how long"});
  add({.path = "serviceAccountName", .type = kString, .max_length = 253, .meaning = "identity in the cluster"});
  add({.path = "template", .type = kFreeObject, .meaning = "partial PodTemplateSpec, merged by name"});
}

}  // namespace espalier::job
