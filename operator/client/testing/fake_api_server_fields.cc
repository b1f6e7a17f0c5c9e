// An object is flattened to its leaves (ForEachLeaf), whose paths are interned as numbers. Owners are sorted sets of
// paths, so that ownership is computed with set operations. A field of an apply conflicts if another manager owns it
// and the stored value differs. Removing a field also removes objects and lists that become empty.
#include "operator/client/testing/fake_api_server_fields.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;
using Id = FieldPaths::Id;

// Fields of metadata that only the server sets; they have no owner.
constexpr std::array<std::string_view, 9> kSystemMetadata = {
    "name",          "namespace",         "uid",
    "generation",    "creationTimestamp", "resourceVersion",
    "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"};

bool IsSystemField(const FieldPaths& paths, Id parent, const std::string& name) {
  if (parent == FieldPaths::kRoot) return name == "apiVersion" || name == "kind";
  if (paths.step(parent).parent != FieldPaths::kRoot || paths.step(parent).name != "metadata") return false;
  return std::find(kSystemMetadata.begin(), kSystemMetadata.end(), name) != kSystemMetadata.end();
}

// Returns the member that identifies the items of the list at `path`, or "" for lists that are one leaf.
std::string ListKeyOf(const FieldPaths& paths, Id path) {
  const FieldPaths::Step& step = paths.step(path);
  if (path == FieldPaths::kRoot || step.parent == FieldPaths::kRoot) return "";
  const FieldPaths::Step& parent = paths.step(step.parent);
  if (parent.parent != FieldPaths::kRoot) return "";
  if (parent.name == "status" && step.name == "conditions") return "type";
  if (parent.name == "metadata" && step.name == "ownerReferences") return "uid";
  return "";
}

bool AllHaveKey(const Json& list, const std::string& key) {
  return std::all_of(list.begin(), list.end(), [&](const Json& item) { return !kube::StringAt(item, {key}).empty(); });
}

using Visit = std::function<void(Id path, const Json& value)>;

// Calls `visit` for each leaf below `path`, except nulls.
void ForEachLeaf(FieldPaths& paths, Id path, const Json& value, const Visit& visit) {
  if (value.is_null()) return;
  if (value.is_object() && !value.empty()) {
    for (const auto& [name, member] : value.items()) {
      if (!IsSystemField(paths, path, name)) ForEachLeaf(paths, paths.Child(path, name), member, visit);
    }
    return;
  }
  const std::string key = value.is_array() && !value.empty() ? ListKeyOf(paths, path) : "";
  if (key.empty() || !AllHaveKey(value, key)) {
    if (path != FieldPaths::kRoot) visit(path, value);
    return;
  }
  for (const Json& item : value) ForEachLeaf(paths, paths.Child(path, kube::StringAt(item, {key}), key), item, visit);
}

void ForEachLeafOf(FieldPaths& paths, Part part, const Json& object, const Visit& visit) {
  if (!object.is_object()) return;
  for (const auto& [name, member] : object.items()) {
    const bool is_status = name == "status";
    if (is_status == (part == Part::kStatus) && !IsSystemField(paths, FieldPaths::kRoot, name)) {
      ForEachLeaf(paths, paths.Child(FieldPaths::kRoot, name), member, visit);
    }
  }
}

FieldSet LeavesOf(FieldPaths& paths, Part part, const Json& object) {
  FieldSet leaves;
  ForEachLeafOf(paths, part, object, [&](Id path, const Json&) { leaves.push_back(path); });
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

Json* FindItem(Json* list, const FieldPaths::Step& step) {
  if (!list->is_array()) return nullptr;
  for (Json& item : *list) {
    if (kube::StringAt(item, {step.list_key}) == step.name) return &item;
  }
  return nullptr;
}

Json* Lookup(const FieldPaths& paths, Json* object, Id path) {
  if (path == FieldPaths::kRoot) return object;
  const FieldPaths::Step& step = paths.step(path);
  Json* const parent = Lookup(paths, object, step.parent);
  if (parent == nullptr) return nullptr;
  if (!step.list_key.empty()) return FindItem(parent, step);
  if (!parent->is_object()) return nullptr;
  const auto member = parent->find(step.name);
  return member == parent->end() ? nullptr : &*member;
}

const Json* Lookup(const FieldPaths& paths, const Json& object, Id path) {
  return Lookup(paths, const_cast<Json*>(&object), path);  // does not modify it
}

Json& LookupOrMake(const FieldPaths& paths, Json* object, Id path) {
  if (path == FieldPaths::kRoot) return *object;
  const FieldPaths::Step& step = paths.step(path);
  Json& parent = LookupOrMake(paths, object, step.parent);
  if (step.list_key.empty()) {
    if (!parent.is_object()) parent = Json::object();
    return parent[step.name];
  }
  if (!parent.is_array()) parent = Json::array();
  if (Json* const item = FindItem(&parent, step)) return *item;
  parent.push_back({{step.list_key, step.name}});
  return parent.back();
}

// Removes the value at `path`, and the containers that become empty.
void Erase(const FieldPaths& paths, Json* object, Id path) {
  const FieldPaths::Step& step = paths.step(path);
  Json* const parent = Lookup(paths, object, step.parent);
  if (parent == nullptr) return;
  if (const std::string& key = paths.step(step.parent).list_key; !key.empty() && key == step.name) {
    if (parent->size() == 1) Erase(paths, object, step.parent);  // removes the item if only its key is left
    return;
  }
  if (!step.list_key.empty()) {
    if (Json* const item = FindItem(parent, step)) parent->erase(parent->begin() + (item - &parent->front()));
  } else if (parent->is_object()) {
    parent->erase(step.name);
  }
  if (parent->empty() && step.parent != FieldPaths::kRoot) Erase(paths, object, step.parent);
}

FieldSet Minus(const FieldSet& a, const FieldSet& b) {
  FieldSet difference;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(difference));
  return difference;
}

FieldSet Union(const FieldSet& a, const FieldSet& b) {
  FieldSet both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

Owner& OwnerOf(const std::string& manager, bool applies, Part part, Owners* owners) {
  for (Owner& owner : *owners) {
    if (owner.manager == manager && owner.applies == applies && owner.part == part) return owner;
  }
  return owners->emplace_back(Owner{manager, applies, part, {}});
}

bool Owns(const Owner& owner, Id path) { return std::binary_search(owner.fields.begin(), owner.fields.end(), path); }

void DropEmpty(Owners* owners) {
  std::erase_if(*owners, [](const Owner& owner) { return owner.fields.empty(); });
}

}  // namespace

Id FieldPaths::Child(Id parent, const std::string& name, const std::string& list_key) {
  const std::string text = std::to_string(parent) + '/' + list_key + '/' + name;
  const auto [found, is_new] = ids_.emplace(text, static_cast<Id>(steps_.size()));
  if (is_new) steps_.push_back({parent, name, list_key});
  return found->second;
}

std::string FieldPaths::Text(Id path) const {
  if (path == kRoot) return "";
  const Step& last = steps_[path];
  if (last.list_key.empty()) return Text(last.parent) + "." + last.name;
  return Text(last.parent) + "[" + last.list_key + "=\"" + last.name + "\"]";
}

void RecordChange(FieldPaths& paths, const Json& before, const std::string& manager, Part part, OwnedObject* after) {
  FieldSet changed, kept;
  ForEachLeafOf(paths, part, after->object, [&](Id path, const Json& value) {
    const Json* const old = Lookup(paths, before, path);
    (old != nullptr && *old == value ? kept : changed).push_back(path);
  });
  std::sort(changed.begin(), changed.end());
  std::sort(kept.begin(), kept.end());
  const FieldSet removed = Minus(LeavesOf(paths, part, before), kept);
  for (Owner& owner : after->owners) owner.fields = Minus(Minus(owner.fields, removed), changed);
  Owner& writer = OwnerOf(manager, /*applies=*/false, part, &after->owners);
  writer.fields = Union(writer.fields, changed);
  DropEmpty(&after->owners);
}

std::vector<FieldConflict> ApplyFields(FieldPaths& paths, const Json& applied, const std::string& manager, Part part,
                                       bool force, OwnedObject* live) {
  std::vector<std::pair<Id, const Json*>> wanted;
  ForEachLeafOf(paths, part, applied, [&](Id path, const Json& value) { wanted.emplace_back(path, &value); });
  std::sort(wanted.begin(), wanted.end());

  const auto is_self = [&](const Owner& owner) { return owner.applies && owner.manager == manager; };
  std::vector<FieldConflict> conflicts;
  FieldSet wants, overruled;
  for (const auto& [path, value] : wanted) {
    wants.push_back(path);
    const Json* const stored = Lookup(paths, live->object, path);
    if (stored == nullptr || *stored == *value) continue;
    overruled.push_back(path);
    for (const Owner& owner : live->owners) {
      if (!is_self(owner) && Owns(owner, path)) conflicts.push_back({owner.manager, paths.Text(path)});
    }
  }
  if (!conflicts.empty() && !force) return conflicts;

  Owner& self = OwnerOf(manager, /*applies=*/true, part, &live->owners);
  const FieldSet given_up = Minus(self.fields, wants);
  self.fields = wants;
  for (Owner& owner : live->owners) {
    if (!is_self(owner)) owner.fields = Minus(owner.fields, overruled);
  }
  const auto is_key = [&](Id path) { return paths.step(paths.step(path).parent).list_key == paths.step(path).name; };
  FieldSet in_order = given_up;  // keys last, because items are found by their key
  std::stable_partition(in_order.begin(), in_order.end(), [&](Id path) { return !is_key(path); });
  for (const Id path : in_order) {
    const bool has_owner =
        std::any_of(live->owners.begin(), live->owners.end(), [&](const Owner& owner) { return Owns(owner, path); });
    if (!has_owner) Erase(paths, &live->object, path);
  }
  for (const auto& [path, value] : wanted) LookupOrMake(paths, &live->object, path) = *value;
  DropEmpty(&live->owners);
  return {};
}

}  // namespace espalier::ctl::client::fake
