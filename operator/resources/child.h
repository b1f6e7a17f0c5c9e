// The head that every child has, and the hash of what it was made from.
#pragma once

#include <string>

#include "operator/kube/resource.h"
#include "operator/resources/builders.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::resources {

// What a child was made from, beyond what never changes once a job is accepted. Fields that say nothing are left out
// by whoever fills it, so that one which only a newer operator knows changes no hash.
class Inputs {
 public:
  Inputs& Add(const std::string& name, kube::Json value);
  // 16 hexadecimal digits.
  std::string Hash(const api::DistTraining& training) const;

 private:
  kube::Json inputs_ = kube::Json::object();
};
// Of a role's pods: its fields of the document, and its image.
Inputs SelectInputs(const Context& context, api::Role role);

// apiVersion, kind and metadata; `component` is a role's name or kSharedComponent.
kube::Json MakeChild(const Context& context, const kube::Resource& resource, const std::string& name,
                     const std::string& component, const Inputs& inputs = {});

}  // namespace espalier::ctl::resources
