// Tracks which field manager owns which field, which decides the merges, removals and conflicts of server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/). Fields are the leaves of an object. A list is
// one leaf, except for status.conditions and metadata.ownerReferences, whose items are merged by type and by uid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "operator/kube/json.h"

namespace espalier::ctl::client::fake {

// Maps paths to numbers, so that thousands of objects of the same form share them. Thread-compatible.
class FieldPaths {
 public:
  using Id = uint32_t;
  static constexpr Id kRoot = 0;

  struct Step {
    Id parent = kRoot;
    std::string name;      // of an object's member ("labels"), or the value that identifies a list's item ("Ready")
    std::string list_key;  // the item's member that has this value ("type"); "": the step is to an object's member
  };
  FieldPaths() : steps_(1) {}
  Id Child(Id parent, const std::string& name, const std::string& list_key = "");
  const Step& step(Id path) const { return steps_[path]; }
  std::string Text(Id path) const;  // ".metadata.labels.app", ".status.conditions[type="Ready"].status"

 private:
  std::vector<Step> steps_;
  std::unordered_map<std::string, Id> ids_;  // by parent and step
};

using FieldSet = std::vector<FieldPaths::Id>;  // sorted

enum class Part { kMain, kStatus };  // what a write changes: all fields but .status, or only .status

struct Owner {
  std::string manager;
  bool applies = false;  // writes by server-side apply; else by create, replace or patch
  Part part = Part::kMain;
  FieldSet fields;
  friend bool operator==(const Owner&, const Owner&) = default;
};
using Owners = std::vector<Owner>;

struct OwnedObject {
  kube::Json object;
  Owners owners;
};

// Records a write other than an apply: `manager` becomes the owner of all fields that differ from `before` (null: the
// object is new).
void RecordChange(FieldPaths& paths, const kube::Json& before, const std::string& manager, Part part,
                  OwnedObject* after);

struct FieldConflict {
  std::string manager;  // owner of the field
  std::string field;    // ".spec.replicas"
};
// Merges `applied`, the complete intent of `manager`, into `live`. Fields of its previous intent that are missing now
// are removed, unless another manager owns them. Without `force`, conflicts are returned and nothing is merged.
std::vector<FieldConflict> ApplyFields(FieldPaths& paths, const kube::Json& applied, const std::string& manager,
                                       Part part, bool force, OwnedObject* live);

}  // namespace espalier::ctl::client::fake
