#include "operator/client/yaml_json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "services/job/text/scalars.h"
#include "services/job/text/yaml_tree.h"

namespace espalier::ctl::client {
namespace {

using job::YamlEntry;
using job::YamlError;
using job::YamlKind;
using job::YamlNode;
using kube::Json;

// Converts a plain scalar to a boolean (true, True, TRUE, ...) or, if it is in JSON's syntax, to a number; converts any
// other scalar to a string.
Json ScalarToJson(const YamlNode& node) {
  if (!node.plain) return node.text;
  if (const std::optional<bool> boolean = job::ReadBool(node.text)) return *boolean;
  const char* const begin = node.text.data();
  const char* const end = begin + node.text.size();
  if (int64_t integer = 0; job::IsJsonInteger(node.text) && std::from_chars(begin, end, integer).ec == std::errc()) {
    return integer;
  }
  if (job::IsJsonNumber(node.text)) {
    const double number = std::strtod(begin, nullptr);
    if (std::isfinite(number)) return number;
  }
  return node.text;
}

// Recursive; ReadYaml limits the depth.
Json ToJson(const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::kNull: return nullptr;
    case YamlKind::kScalar: return ScalarToJson(node);
    case YamlKind::kList: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(ToJson(item));
      return list;
    }
    case YamlKind::kMap: {
      Json object = Json::object();
      for (const YamlEntry& entry : node.entries) object[entry.key] = ToJson(entry.value);
      return object;
    }
  }
  return nullptr;
}

// Reports merge keys ("<<") as errors. kubectl supports them, but this reader does not: without the error it would read
// a different document.
void RefuseMergeKeys(const YamlNode& node, std::vector<YamlError>* errors) {
  for (const YamlNode& item : node.items) RefuseMergeKeys(item, errors);
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "<<" && entry.key_plain) errors->push_back({entry.key_at, "merge keys (<<) are not supported"});
    RefuseMergeKeys(entry.value, errors);
  }
}

}  // namespace

Result<Json> ParseYamlOrJson(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') {
    // The YAML reader does not accept all JSON texts, for example those with tabs or surrogate pairs.
    Result<Json> json = kube::ParseJson(text);
    if (json.ok()) return json;
  }
  std::vector<YamlError> errors;
  const YamlNode root = job::ReadYaml(text, /*source=*/0, {.text_bytes = kMaxYamlBytes}, &errors);
  RefuseMergeKeys(root, &errors);
  if (errors.empty()) return ToJson(root);
  std::string message = errors.front().message;
  // The reader's message continues with ": expected one job per file", which is wrong here.
  constexpr std::string_view kSecondDocument = "a second document";
  if (message.starts_with(kSecondDocument)) message = kSecondDocument;
  return InvalidArgument("line " + std::to_string(errors.front().at.line) + ": " + message);
}

}  // namespace espalier::ctl::client
