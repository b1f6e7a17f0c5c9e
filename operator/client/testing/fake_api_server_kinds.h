// How the kinds of objects differ on an API server.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "operator/kube/request.h"
#include "operator/kube/resource.h"

namespace espalier::ctl::client::fake {

struct KindTraits {
  const kube::Resource* resource = nullptr;
  // Besides apiVersion, kind and metadata; empty: not checked.
  std::vector<std::string_view> fields;
  bool has_status = false;                   // as a subresource
  bool keeps_status_on_create = false;       // a kubelet registers its node with it
  std::string_view first_phase;              // status.phase of a new object; "": none
  std::vector<std::string_view> selectable;  // by field selectors, besides metadata.name and metadata.namespace
  bool has_generation = false;
  bool is_custom = false;           // items of lists carry apiVersion and kind
  bool must_name_version = false;   // a replacement without resourceVersion is refused
  bool creates_by_replace = false;  // PUT of what is not there creates it
  bool ends_gracefully = false;     // stays until its kubelet has ended it
  kube::Propagation default_propagation = kube::Propagation::kBackground;
};

// Those of kube/resource.h.
std::span<const KindTraits> AllKinds();
// Null where there is none.
const KindTraits* FindKind(std::string_view group, std::string_view version, std::string_view plural);
const KindTraits* FindKind(const kube::Resource& resource);

}  // namespace espalier::ctl::client::fake
