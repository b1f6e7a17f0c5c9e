#include "operator/kube/object_meta.h"

namespace espalier::ctl::kube {
namespace {

// Returns the field, or nullptr if it is absent or JSON null: Go omits empty fields, other encoders write null.
const Json* FindField(const Json& meta, std::string_view field) {
  const Json* const found = Find(meta, {field});
  return found == nullptr || found->is_null() ? nullptr : found;
}

Status InvalidFieldError(std::string_view field, const char* expected) {
  return InvalidArgument("metadata." + std::string(field) + " is not " + expected);
}

Status ReadString(const Json& meta, std::string_view field, std::string* text) {
  const Json* const found = FindField(meta, field);
  if (found == nullptr) return {};
  if (!found->is_string()) return InvalidFieldError(field, "a string");
  *text = found->get_ref<const std::string&>();
  return {};
}

Status ReadInteger(const Json& meta, std::string_view field, int64_t* number) {
  if (FindField(meta, field) == nullptr) return {};
  const std::optional<int64_t> found = IntegerAt(meta, {field});
  if (!found.has_value()) return InvalidFieldError(field, "an integer");
  *number = *found;
  return {};
}

Status ReadTime(const Json& meta, std::string_view field, std::optional<WallTime>* time) {
  std::string text;
  RETURN_IF_ERROR(ReadString(meta, field, &text));
  if (text.empty()) return {};
  const Result<WallTime> parsed = ParseTime(text);
  if (!parsed.ok()) return InvalidFieldError(field, "a time");
  *time = *parsed;
  return {};
}

Status ReadStrings(const Json& meta, std::string_view field, std::map<std::string, std::string>* strings) {
  const Json* const found = FindField(meta, field);
  if (found == nullptr) return {};
  if (!found->is_object()) return InvalidFieldError(field, "an object of strings");
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) return InvalidFieldError(field, "an object of strings");
    strings->emplace(key, value.get_ref<const std::string&>());
  }
  return {};
}

Status ReadController(const Json& meta, std::optional<OwnerReference>* controller) {
  const Json* const owners = FindField(meta, "ownerReferences");
  if (owners == nullptr) return {};
  if (!owners->is_array()) return InvalidFieldError("ownerReferences", "a list");
  for (const Json& owner : *owners) {
    if (!owner.is_object()) return InvalidFieldError("ownerReferences", "a list of objects");
    if (!BoolAt(owner, {"controller"})) continue;
    *controller = {StringAt(owner, {"apiVersion"}), StringAt(owner, {"kind"}), StringAt(owner, {"name"}),
                   StringAt(owner, {"uid"})};
  }
  return {};
}

// Computes the time of the deletion request: deletionTimestamp is the end of the grace period.
Status ReadDeletion(const Json& json, ObjectMeta* meta) {
  RETURN_IF_ERROR(ReadTime(json, "deletionTimestamp", &meta->deletion_requested_at));
  int64_t grace_seconds = 0;
  RETURN_IF_ERROR(ReadInteger(json, "deletionGracePeriodSeconds", &grace_seconds));
  constexpr int64_t kMaxGraceSeconds = int64_t{100} * 365 * 24 * 3600;  // so that no subtraction overflows
  if (grace_seconds < 0 || grace_seconds > kMaxGraceSeconds) {
    return InvalidFieldError("deletionGracePeriodSeconds", "between 0 and 100 years");
  }
  meta->deletion_grace = std::chrono::seconds(grace_seconds);
  if (meta->deletion_requested_at.has_value()) *meta->deletion_requested_at -= meta->deletion_grace;
  return {};
}

}  // namespace

ObjectKey ReadObjectKey(const Json& object) {
  return {StringAt(object, {"metadata", "namespace"}), StringAt(object, {"metadata", "name"})};
}

Result<ObjectMeta> ParseObjectMeta(const Json& object) {
  const Json* const json = Find(object, {"metadata"});
  if (json == nullptr || !json->is_object()) return InvalidArgument("an object without metadata");
  ObjectMeta meta;
  RETURN_IF_ERROR(ReadString(*json, "name", &meta.key.name));
  if (meta.key.name.empty()) return InvalidArgument("an object without metadata.name");
  RETURN_IF_ERROR(ReadString(*json, "namespace", &meta.key.name_space));
  RETURN_IF_ERROR(ReadString(*json, "uid", &meta.uid));
  RETURN_IF_ERROR(ReadString(*json, "resourceVersion", &meta.resource_version));
  RETURN_IF_ERROR(ReadInteger(*json, "generation", &meta.generation));
  RETURN_IF_ERROR(ReadStrings(*json, "labels", &meta.labels));
  RETURN_IF_ERROR(ReadStrings(*json, "annotations", &meta.annotations));
  RETURN_IF_ERROR(ReadController(*json, &meta.controller));
  std::optional<WallTime> created_at;
  RETURN_IF_ERROR(ReadTime(*json, "creationTimestamp", &created_at));
  meta.created_at = created_at.value_or(WallTime());
  RETURN_IF_ERROR(ReadDeletion(*json, &meta));
  return meta;
}

Json MakeControllerReference(const Resource& resource, const ObjectMeta& owner) {
  return {{"apiVersion", resource.api_version()},
          {"kind", std::string(resource.kind)},
          {"name", owner.key.name},
          {"uid", owner.uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

}  // namespace espalier::ctl::kube
