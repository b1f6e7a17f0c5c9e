// Differences between the kinds of objects in an API server.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "operator/kube/request.h"
#include "operator/kube/resource.h"

namespace espalier::ctl::client::fake {

struct KindTraits {
  const kube::Resource* resource = nullptr;
  // Top-level fields except apiVersion, kind and metadata; empty: not checked.
  std::vector<std::string_view> fields;
  bool has_status = false;                   // has the subresource status
  bool keeps_status_on_create = false;       // for nodes: a kubelet creates its node with a status
  std::string_view first_phase;              // status.phase of a new object; "": none
  std::vector<std::string_view> selectable;  // fields for selectors, except metadata.name and metadata.namespace
  bool has_generation = false;
  bool is_custom = false;           // items of lists have apiVersion and kind
  bool must_name_version = false;   // PUT requires a resourceVersion
  bool creates_by_replace = false;  // PUT creates an object that does not exist
  bool ends_gracefully = false;     // a deleted object stays until its kubelet has ended it
  kube::Propagation default_propagation = kube::Propagation::kBackground;
};

// Returns the kinds of kube/resource.h.
std::span<const KindTraits> AllKinds();
// Returns the kind, or null.
const KindTraits* FindKind(std::string_view group, std::string_view version, std::string_view plural);
const KindTraits* FindKind(const kube::Resource& resource);

}  // namespace espalier::ctl::client::fake
