// Each write checks the body against the URL, then uid and resourceVersion against the stored object, and only then
// computes the new object. A write to the object keeps the stored status and a write to the status keeps the rest;
// fields that only the server sets are always taken from the stored object.
#include "operator/client/testing/fake_api_server_writes.h"

#include <algorithm>
#include <cctype>

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;

constexpr size_t kMaxNameBytes = 253;

bool IsName(std::string_view name) {
  const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxNameBytes && is_alphanumeric(name.front()) &&
         is_alphanumeric(name.back()) && std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alphanumeric(c) || c == '-' || c == '.' || c == ':';
         });
}

std::optional<Refusal> CheckUnknownFields(const ApiRequest& request) {
  const kube::Resource& resource = request.resource();
  const bool is_apply = request.verb == Verb::kApply;  // checked with any fieldValidation
  if (request.kind->fields.empty() || (!is_apply && request.Query("fieldValidation") != "Strict")) return std::nullopt;
  for (const auto& [name, value] : request.body.items()) {
    const auto& known = request.kind->fields;
    if (name == "apiVersion" || name == "kind" || name == "metadata") continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (is_apply) {  // the real server also returns 500 without a reason
      return Refusal{500, "",
                     "failed to create typed patch object (" + ToString(request.key) + "; " + resource.api_version() +
                         ", Kind=" + std::string(resource.kind) + "): ." + name + ": field not declared in schema"};
    }
    return BadRequest(std::string(resource.kind) + " in version \"" + std::string(resource.version) +
                      "\" cannot be handled as a " + std::string(resource.kind) +
                      ": strict decoding error: unknown field \"" + name + "\"");
  }
  return std::nullopt;
}

// Checks that the body is an object of the kind with the namespace and name of the URL. `name` is "" for a POST.
std::optional<Refusal> CheckBody(const ApiRequest& request, const std::string& name) {
  const Json& body = request.body;
  const kube::Resource& resource = request.resource();
  if (!body.is_object()) return BadRequest("the request has no body");
  const std::string api_version = kube::StringAt(body, {"apiVersion"}), kind = kube::StringAt(body, {"kind"});
  if (api_version != resource.api_version() || kind != resource.kind) {
    return BadRequest("the object is a \"" + api_version + ", Kind=" + kind + "\", not a \"" + resource.api_version() +
                      ", Kind=" + std::string(resource.kind) + "\"");
  }
  const Json* const metadata = kube::Find(body, {"metadata"});
  if (metadata != nullptr && !metadata->is_object()) return BadRequest("metadata is no object");
  const std::string named = kube::StringAt(body, {"metadata", "name"});
  if (!name.empty() && named != name && !(named.empty() && request.verb == Verb::kApply)) {
    return BadRequest("the name of the object (" + named + ") does not match the name on the URL (" + name + ")");
  }
  if (name.empty() && named.empty()) {
    return Invalid(resource, "", "metadata.name", "Required value: name or generateName is required");
  }
  const std::string name_space = kube::StringAt(body, {"metadata", "namespace"});
  if (!name_space.empty() && name_space != request.key.name_space) {
    return BadRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return CheckUnknownFields(request);
}

std::optional<Refusal> CheckVersion(const ApiRequest& request, const Json& stored) {
  const std::string requested = kube::StringAt(request.body, {"metadata", "resourceVersion"});
  if (requested.empty() || requested == kube::StringAt(stored, {"metadata", "resourceVersion"})) return std::nullopt;
  return ConflictRefusal(request.resource(), request.key.name,
                         "the object has been modified; please apply your changes to the latest version and try again");
}

std::optional<Refusal> CheckUid(const ApiRequest& request, const Json& stored) {
  const std::string requested = kube::StringAt(request.body, {"metadata", "uid"});
  const std::string uid = kube::StringAt(stored, {"metadata", "uid"});
  if (requested.empty() || requested == uid) return std::nullopt;
  return ConflictRefusal(request.resource(), request.key.name,
                         "Precondition failed: UID in precondition: " + requested + ", UID in object meta: " + uid);
}

void DropUnknownFields(const KindTraits& kind, Json* object) {
  if (kind.fields.empty()) return;
  for (auto member = object->begin(); member != object->end();) {
    const bool is_known = member.key() == "apiVersion" || member.key() == "kind" || member.key() == "metadata" ||
                          std::find(kind.fields.begin(), kind.fields.end(), member.key()) != kind.fields.end();
    member = is_known ? std::next(member) : object->erase(member);
  }
}

// Sets the fields that only the server sets: from the stored object, or for a new object from `fresh`.
void SetSystemFields(const ApiRequest& request, const NewObject& fresh, const Json* stored, Json* object) {
  (*object)["apiVersion"] = request.resource().api_version();
  (*object)["kind"] = request.resource().kind;
  Json& metadata = (*object)["metadata"];
  if (!metadata.is_object()) metadata = Json::object();
  for (const char* name : {"uid", "generation", "creationTimestamp", "resourceVersion", "managedFields",
                           "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}) {
    metadata.erase(name);
  }
  if (stored != nullptr) {
    for (const char* name : {"uid", "generation", "creationTimestamp", "resourceVersion", "deletionTimestamp",
                             "deletionGracePeriodSeconds"}) {
      if (const Json* const value = kube::Find(*stored, {"metadata", name})) metadata[name] = *value;
    }
  } else {
    metadata["uid"] = fresh.uid;
    metadata["creationTimestamp"] = fresh.created_at;
  }
  metadata["name"] = request.key.name;
  if (request.resource().namespaced) metadata["namespace"] = request.key.name_space;
}

void SetFirstStatus(const KindTraits& kind, Json* object) {
  if (!kind.has_status || kind.keeps_status_on_create) return;
  object->erase("status");
  if (!kind.first_phase.empty()) (*object)["status"] = {{"phase", kind.first_phase}};
}

void CopyOrDrop(const std::string& name, const Json& from, Json* to) {
  const Json* const value = kube::Find(from, {name});
  if (value != nullptr) {
    (*to)[name] = *value;
  } else {
    to->erase(name);
  }
}

Part PartOf(const ApiRequest& request) { return request.of_status ? Part::kStatus : Part::kMain; }

Refusal MakeRefusal(const ApiRequest& request, const std::vector<FieldConflict>& conflicts) {
  Refusal refusal = ConflictRefusal(request.resource(), request.key.name, "");
  refusal.message = "Apply failed with " + std::to_string(conflicts.size()) +
                    (conflicts.size() == 1 ? " conflict: " : " conflicts: ");
  Json causes = Json::array();
  for (const FieldConflict& conflict : conflicts) {
    const std::string what = "conflict with \"" + conflict.manager + "\"";
    refusal.message += (causes.empty() ? "" : ", ") + what + ": " + conflict.field;
    causes.push_back({{"reason", "FieldManagerConflict"}, {"message", what}, {"field", conflict.field}});
  }
  refusal.details["causes"] = std::move(causes);
  return refusal;
}

}  // namespace

std::optional<Refusal> Create(const ApiRequest& request, const NewObject& fresh, FieldPaths& paths,
                              OwnedObject* after) {
  if (std::optional<Refusal> refusal = CheckBody(request, /*name=*/"")) return refusal;
  if (!kube::StringAt(request.body, {"metadata", "resourceVersion"}).empty()) {
    return Refusal{500, "", "resourceVersion should not be set on objects to be created"};
  }
  if (!IsName(request.key.name)) {
    return Invalid(request.resource(), request.key.name, "metadata.name",
                   "Invalid value: a lowercase RFC 1123 subdomain is needed");
  }
  after->object = request.body;
  DropUnknownFields(*request.kind, &after->object);
  SetSystemFields(request, fresh, nullptr, &after->object);
  SetFirstStatus(*request.kind, &after->object);
  RecordChange(paths, Json(), request.field_manager(), Part::kMain, after);
  return std::nullopt;
}

std::optional<Refusal> Replace(const ApiRequest& request, const OwnedObject& before, FieldPaths& paths,
                               OwnedObject* after) {
  const bool is_patch = request.verb == Verb::kMergePatch;
  if (!request.body.is_object()) return BadRequest("the request has no body");
  if (!is_patch) {
    if (std::optional<Refusal> refusal = CheckBody(request, request.key.name)) return refusal;
    if (request.kind->must_name_version && kube::StringAt(request.body, {"metadata", "resourceVersion"}).empty()) {
      return Invalid(request.resource(), request.key.name, "metadata.resourceVersion",
                     "Invalid value: 0: must be specified for an update");
    }
  }
  if (std::optional<Refusal> refusal = CheckUid(request, before.object)) return refusal;
  if (std::optional<Refusal> refusal = CheckVersion(request, before.object)) return refusal;

  Json wanted = request.body;
  if (is_patch) {
    wanted = before.object;
    wanted.merge_patch(request.body);
    if (!wanted.is_object()) return BadRequest("the patch leaves no object");
  }
  after->owners = before.owners;
  if (request.of_status) {
    after->object = before.object;
    CopyOrDrop("status", wanted, &after->object);
  } else {
    after->object = std::move(wanted);
    DropUnknownFields(*request.kind, &after->object);
    SetSystemFields(request, {}, &before.object, &after->object);
    if (request.kind->has_status) CopyOrDrop("status", before.object, &after->object);
  }
  RecordChange(paths, before.object, request.field_manager(), PartOf(request), after);
  return std::nullopt;
}

std::optional<Refusal> Apply(const ApiRequest& request, const OwnedObject* before, const NewObject& fresh,
                             FieldPaths& paths, OwnedObject* after) {
  const kube::Resource& resource = request.resource();
  const std::string& name = request.key.name;
  const std::string manager = request.Query("fieldManager");
  if (manager.empty()) {
    return Refusal{
        422, "Invalid",
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"};
  }
  if (std::optional<Refusal> refusal = CheckBody(request, name)) return refusal;
  if (kube::Find(request.body, {"metadata", "managedFields"}) != nullptr) {
    return BadRequest("metadata.managedFields must be nil");
  }
  if (before == nullptr) {
    if (request.of_status) return NotFoundRefusal(resource, name);
    const std::string uid = kube::StringAt(request.body, {"metadata", "uid"});
    if (!uid.empty()) {
      return ConflictRefusal(
          resource, name,
          "uid mismatch: the provided object specified uid " + uid + ", and no existing object was found");
    }
    if (!IsName(name)) return Invalid(resource, name, "metadata.name", "Invalid value");
    SetSystemFields(request, fresh, nullptr, &after->object);
    SetFirstStatus(*request.kind, &after->object);
  } else {
    const std::string uid = kube::StringAt(request.body, {"metadata", "uid"});
    if (!uid.empty() && uid != kube::StringAt(before->object, {"metadata", "uid"})) {
      return Invalid(resource, name, "metadata.uid", "Invalid value: \"" + uid + "\": field is immutable");
    }
    if (std::optional<Refusal> refusal = CheckVersion(request, before->object)) return refusal;
    *after = *before;
  }
  Json wanted = request.body;
  DropUnknownFields(*request.kind, &wanted);
  const std::vector<FieldConflict> conflicts =
      ApplyFields(paths, wanted, manager, PartOf(request), request.Query("force") == "true", after);
  if (!conflicts.empty()) return MakeRefusal(request, conflicts);
  return std::nullopt;
}

std::optional<Refusal> CheckDelete(const ApiRequest& request, const Json& stored) {
  const auto check = [&](const char* precondition, const char* field, const std::string& what) {
    const std::string requested = kube::StringAt(request.body, {"preconditions", precondition});
    const std::string has = kube::StringAt(stored, {"metadata", field});
    if (requested.empty() || requested == has) return std::optional<Refusal>();
    return std::optional<Refusal>(ConflictRefusal(request.resource(), request.key.name,
                                                  "the " + what + " in the precondition (" + requested +
                                                      ") does not match the " + what + " in record (" + has +
                                                      "). The object might have been deleted and then recreated"));
  };
  if (std::optional<Refusal> refusal = check("uid", "uid", "UID")) return refusal;
  return check("resourceVersion", "resourceVersion", "ResourceVersion");
}

}  // namespace espalier::ctl::client::fake
