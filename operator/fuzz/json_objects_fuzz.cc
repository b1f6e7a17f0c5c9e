// Fuzzes the JSON parser, and the parsers of Pods, Jobs, StatefulSets and Events.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/kube/condition.h"
#include "operator/kube/json.h"
#include "operator/kube/pod.h"
#include "operator/kube/request.h"
#include "operator/kube/workload.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::ctl::kube;  // NOLINT: one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const ObjectsIn objects_in : {ObjectsIn::kRoot, ObjectsIn::kEvent, ObjectsIn::kList}) {
    const espalier::Result<Json> objects = ParseObjects(text, objects_in);
    if (objects.ok()) (void)NestsTooDeep(*objects);
  }
  const espalier::Result<Json> json = ParseJson(text);
  if (!json.ok()) return 0;
  // The texts that Print and ApplyRequest write parse to the same value.
  const espalier::Result<Json> again = ParseJson(Print(*json));
  ESPALIER_CHECK(again.ok() && *again == *json);
  const espalier::Result<Json> applied = ParseJson(ApplyRequest(kPods, *json, {}).body);
  ESPALIER_CHECK(applied.ok() && *applied == *json);
  ESPALIER_CHECK(ParseJson(text, ManagedFields::kDrop).ok());

  const bool has_metadata = ParseObjectMeta(*json).ok();
  ESPALIER_CHECK(ParsePod(*json).ok() == has_metadata && ParseJob(*json).ok() == has_metadata);
  ESPALIER_CHECK(ParseStatefulSet(*json).ok() == has_metadata && ParseEvent(*json).ok() == has_metadata);
  (void)FindCondition(*json, "Ready");
  return 0;
}
