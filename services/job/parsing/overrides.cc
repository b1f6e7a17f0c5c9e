#include "services/job/parsing/overrides.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "services/base/parse_number.h"

namespace espalier::job {
namespace {

using Step = std::variant<std::string, size_t>;  // the name of a field, or an index in a list

// Appends the indices of a text such as "[0][12]" to *steps; returns false for any other syntax.
bool ReadIndices(std::string_view text, std::vector<Step>* steps) {
  while (!text.empty()) {
    const size_t close = text.find(']');
    if (text[0] != '[' || close == std::string_view::npos) return false;
    const std::optional<size_t> index = ParseNumber<size_t>(text.substr(1, close - 1));
    if (!index) return false;
    steps->push_back(*index);
    text.remove_prefix(close + 1);
  }
  return true;
}

// Returns the steps of `path`; empty if the path is malformed.
std::vector<Step> ParseSteps(std::string_view path) {
  std::vector<Step> steps;
  while (true) {
    const size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    const size_t bracket = std::min(part.find('['), part.size());
    if (bracket == 0) return {};
    steps.push_back(std::string(part.substr(0, bracket)));
    if (!ReadIndices(part.substr(bracket), &steps)) return {};
    if (dot == std::string_view::npos) return steps;
    path.remove_prefix(dot + 1);
  }
}

bool NeedsSpec(const Step& first) {
  const std::string& name = std::get<std::string>(first);
  return name != "apiVersion" && name != "kind" && name != "metadata" && name != "spec";
}

// Returns the field `name` of the object `node`, and adds the field if it is missing. A node of kind kNull becomes an
// object. Returns nullptr if `node` is neither an object nor of kind kNull. `at` is the position of new nodes.
YamlNode* FindOrAddField(YamlNode* node, const std::string& name, Position at) {
  if (node->kind == YamlKind::kNull) *node = {.kind = YamlKind::kMap, .at = at};
  if (node->kind != YamlKind::kMap) return nullptr;
  for (YamlEntry& entry : node->entries) {
    if (entry.key == name) return &entry.value;
  }
  node->entries.push_back({.key = name, .key_plain = true, .key_at = at, .value = {.at = at}});
  return &node->entries.back().value;
}

// As FindOrAddField, for an item of a list. Adds only the item after the last one; returns nullptr for a larger index.
YamlNode* FindOrAddItem(YamlNode* node, size_t index, Position at) {
  if (node->kind == YamlKind::kNull) *node = {.kind = YamlKind::kList, .at = at};
  if (node->kind != YamlKind::kList || index > node->items.size()) return nullptr;
  if (index == node->items.size()) node->items.push_back({.at = at});
  return &node->items[index];
}

}  // namespace

void ApplyOverride(const std::string& path, YamlNode value, YamlNode* root, Violations* violations) {
  std::vector<Step> steps = ParseSteps(path);
  if (steps.empty()) {
    violations->Add(value.at, "", "not a path such as spec.training.epochs or training.inputs[0].features");
    return;
  }
  if (NeedsSpec(steps[0])) steps.insert(steps.begin(), std::string("spec"));
  YamlNode* node = root;
  for (const Step& step : steps) {
    const auto* name = std::get_if<std::string>(&step);
    node =
        name != nullptr ? FindOrAddField(node, *name, value.at) : FindOrAddItem(node, std::get<size_t>(step), value.at);
    if (node != nullptr) continue;
    violations->Add(value.at, "",
                    name != nullptr ? "cannot set '" + *name + "': its parent is not an object"
                                    : "cannot set item " + std::to_string(std::get<size_t>(step)) +
                                          ": its parent is not a list, or is too short");
    return;
  }
  *node = std::move(value);
}

}  // namespace espalier::job
