// Which field manager owns which field: what server-side apply's merges, removals and conflicts are decided by
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/). Fields are the leaves of an object; a list is
// one leaf, but for status.conditions and metadata.ownerReferences, whose items are merged by type and by uid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "operator/kube/json.h"

namespace espalier::ctl::client::fake {

// Paths as numbers, so that thousands of objects of the same form share them. Thread-compatible.
class FieldPaths {
 public:
  using Id = uint32_t;
  static constexpr Id kRoot = 0;

  struct Step {
    Id parent = kRoot;
    std::string name;      // of a member; of an item of a list: the value of its key
    std::string list_key;  // "": a member of an object
  };
  FieldPaths() : steps_(1) {}
  Id Child(Id parent, const std::string& name, const std::string& list_key = "");
  const Step& step(Id path) const { return steps_[path]; }
  std::string Text(Id path) const;  // ".metadata.labels.app", ".status.conditions[type="Ready"].status"

 private:
  std::vector<Step> steps_;
  std::unordered_map<std::string, Id> ids_;  // by parent and step
};

using FieldSet = std::vector<FieldPaths::Id>;  // in order

enum class Part { kMain, kStatus };  // what a write to the object, or to its status, is about

struct Owner {
  std::string manager;
  bool applies = false;  // by server-side apply; else by create, replace or patch
  Part part = Part::kMain;
  FieldSet fields;
  friend bool operator==(const Owner&, const Owner&) = default;
};
using Owners = std::vector<Owner>;

struct OwnedObject {
  kube::Json object;
  Owners owners;
};

// `object` was changed from `before` (null: it is new) by a manager that does not apply: what differs is its now.
void RecordChange(FieldPaths& paths, const kube::Json& before, const std::string& manager, Part part,
                  OwnedObject* after);

struct FieldConflict {
  std::string manager;  // who owns it
  std::string field;    // ".spec.replicas"
};
// Merges `applied` into `live` as all that `manager` wants; what it wanted before and does not any more is removed
// where nobody else owns it. Without `force` conflicts are returned, and nothing is merged.
std::vector<FieldConflict> ApplyFields(FieldPaths& paths, const kube::Json& applied, const std::string& manager,
                                       Part part, bool force, OwnedObject* live);

}  // namespace espalier::ctl::client::fake
