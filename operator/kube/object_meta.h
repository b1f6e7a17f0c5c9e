// The metadata of an object, which has the same fields for all kinds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "operator/kube/json.h"
#include "operator/kube/resource.h"
#include "operator/kube/time.h"

namespace espalier::ctl::kube {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

struct ObjectMeta {
  ObjectKey key;
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::optional<OwnerReference> controller;  // the owner with controller: true
  WallTime created_at{};
  std::optional<WallTime> deletion_requested_at;  // deletionTimestamp minus deletionGracePeriodSeconds
  std::chrono::seconds deletion_grace{0};         // deletionGracePeriodSeconds
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

// Returns the namespace and name in an object's metadata; "" where there is none.
ObjectKey ReadObjectKey(const Json& object);

// Parses an object's metadata, without managedFields. Returns InvalidArgument if the object has no name or if a field
// is invalid.
Result<ObjectMeta> ParseObjectMeta(const Json& object);

// Returns an owner reference to `owner`, with controller and blockOwnerDeletion set.
Json MakeControllerReference(const Resource& resource, const ObjectMeta& owner);

}  // namespace espalier::ctl::kube
