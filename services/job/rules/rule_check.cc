#include "services/job/rules/rule_check.h"

#include <algorithm>

namespace espalier::job {
namespace {

// Returns the JSON pointer of a path: "/spec/training/inputs/1" for "spec.training.inputs[1]".
RuleFields::json_pointer ToPointer(const std::string& path) {
  std::string pointer = "/";
  for (const char c : path) {
    if (c != ']') pointer += c == '.' || c == '[' ? '/' : c;
  }
  return RuleFields::json_pointer(pointer);
}

}  // namespace

bool HasField(const RuleFields& object, const std::string& path) { return object.contains(ToPointer(path)); }

const RuleFields& FindValue(const RuleFields& document, const std::string& path) {
  static const RuleFields* const kNothing = new RuleFields(RuleFields::object());
  const RuleFields::json_pointer pointer = ToPointer(path);
  return document.contains(pointer) ? document.at(pointer) : *kNothing;
}

void VisitValues(const RuleFields& document, const std::string& path,
                 const std::function<void(const RuleFields& value, const std::string& path)>& visit) {
  const size_t list = path.find("[]");
  if (list == std::string::npos) {
    if (HasField(document, path)) visit(FindValue(document, path), path);
    return;
  }
  const std::string before = path.substr(0, list);
  if (!HasField(document, before)) return;
  for (size_t i = 0; i < FindValue(document, before).size(); ++i) {
    VisitValues(document, before + "[" + std::to_string(i) + "]" + path.substr(list + 2), visit);
  }
}

}  // namespace espalier::job
