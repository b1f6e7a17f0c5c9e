// Parts that every child object has: apiVersion, kind, metadata, and in the metadata the hash of its inputs.
#pragma once

#include <string>

#include "operator/kube/resource.h"
#include "operator/resources/builders.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::resources {

// The values that a child is made from, except those that are immutable once a job is accepted. The caller must leave
// out empty values: otherwise each new field in a newer operator would change the hashes of existing children.
class Inputs {
 public:
  Inputs& Add(const std::string& name, kube::Json value);
  // Returns the hash, 16 hexadecimal digits.
  std::string Hash(const api::DistTraining& training) const;

 private:
  kube::Json inputs_ = kube::Json::object();
};
// Returns the inputs of each pod of a role: its image, its placement (Context::placements) and the role's fields that
// its pod template is made from.
Inputs SelectInputs(const Context& context, api::Role role);

// Returns an object with apiVersion, kind and metadata. `component` is a role's name or kSharedComponent.
kube::Json MakeChild(const Context& context, const kube::Resource& resource, const std::string& name,
                     const std::string& component, const Inputs& inputs = {});

}  // namespace espalier::ctl::resources
