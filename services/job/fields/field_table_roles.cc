// The fields of a role's pods. All roles have them, and only a cluster uses them.
#include "services/job/fields/field_table.h"

namespace espalier::job {

void AppendRoleFields(const std::string& role_path, std::vector<FieldSpec>* table) {
  using enum FieldType;
  const auto add = [&](FieldSpec field) {
    field.path = role_path + "." + field.path;
    field.availability = Availability::kClusterOnly;
    table->push_back(std::move(field));
  };
  add({.path = "image", .type = kString, .max_length = 512, .meaning = "container image"});
  add({.path = "resources", .meaning = "resource requests and limits of a container"});
  add({.path = "resources.requests", .type = kQuantities, .maximum_items = 32, .meaning = "resource requests"});
  add({.path = "resources.limits", .type = kQuantities, .maximum_items = 32, .meaning = "resource limits"});
  add({.path = "env",
       .is_list = true,
       .maximum_items = 100,
       .list_key = "name",
       .meaning = "environment variables of the container"});
  add({.path = "env[].name", .type = kString, .required = true, .max_length = 256, .meaning = "name of the variable"});
  add({.path = "env[].value", .type = kString, .max_length = 32768, .meaning = "value of the variable"});
  add({.path = "env[].valueFrom", .type = kFreeObject, .meaning = "source of the value, instead of `value`"});
  add({.path = "nodeSelector",
       .type = kStringMap,
       .maximum_items = 64,
       .max_length = 63,
       .meaning = "labels that a node must have to run the pods"});
  add({.path = "tolerations", .is_list = true, .maximum_items = 64, .meaning = "tolerations of the pods"});
  add({.path = "tolerations[].key",
       .type = kString,
       .max_length = 316,
       .meaning = "key of the taint; empty matches every key"});
  add({.path = "tolerations[].operator",
       .type = kEnum,
       .values = {"Exists", "Equal"},
       .meaning = "relation of key and value"});
  add({.path = "tolerations[].value", .type = kString, .max_length = 63, .meaning = "value of the taint"});
  add({.path = "tolerations[].effect",
       .type = kEnum,
       .values = {"NoSchedule", "PreferNoSchedule", "NoExecute"},
       .meaning = "effect of the taint; empty matches every effect"});
  add({.path = "tolerations[].tolerationSeconds",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "seconds that a pod stays on a node with the taint NoExecute"});
  add({.path = "serviceAccountName", .type = kString, .max_length = 253, .meaning = "ServiceAccount of the pods"});
  add({.path = "template",
       .type = kFreeObject,
       .meaning = "partial PodTemplateSpec, merged by name into the pod template of the operator"});
}

}  // namespace espalier::job
