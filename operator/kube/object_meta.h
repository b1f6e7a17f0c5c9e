// The part of an object that all kinds share.
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
  std::optional<WallTime> deletion_requested_at;  // deletionTimestamp less deletionGracePeriodSeconds
  std::chrono::seconds deletion_grace{0};         // deletionGracePeriodSeconds
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};

// InvalidArgument for an object without a name, or with fields of other types than they have. managedFields are not
// read.
Result<ObjectMeta> ParseObjectMeta(const Json& object);

// {"apiVersion", "kind", "name", "uid", "controller": true, "blockOwnerDeletion": true}
Json ControllerReference(const Resource& resource, const ObjectMeta& owner);

}  // namespace espalier::ctl::kube
