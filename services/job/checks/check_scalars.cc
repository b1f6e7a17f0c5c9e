// A scalar is checked as text, without its quotes and escapes, and converted to JSON only after its type and range have
// been checked. Numbers must be plain scalars in JSON's syntax. A value of a textual type must not be a plain scalar
// that some YAML reader parses as another type (CheckText).
#include "services/job/checks/check_scalars.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "services/base/ascii.h"
#include "services/base/parse_number.h"
#include "services/base/uri_scheme.h"
#include "services/job/checks/check_uris.h"
#include "services/job/text/scalars.h"
#include "services/job/text/suggestion.h"

namespace espalier::job {
namespace {

using Json = nlohmann::ordered_json;

bool IsName(const std::string& text) {
  if (text.empty() || text.size() > 128 || !IsWordCharacter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return IsWordCharacter(c) || c == '.' || c == '-'; });
}

bool IsEdgeType(const std::string& text) {
  const auto colons = std::count(text.begin(), text.end(), ':');
  if (colons == 0) return IsName(text);
  if (colons != 2) return false;
  const size_t first = text.find(':');
  const size_t second = text.find(':', first + 1);
  return IsName(text.substr(0, first)) && IsName(text.substr(first + 1, second - first - 1)) &&
         IsName(text.substr(second + 1));
}

bool IsPluginItem(const std::string& text) {
  const size_t slash = text.find('/');
  return slash != std::string::npos && IsName(text.substr(0, slash)) && IsName(text.substr(slash + 1));
}

// ^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$
bool IsJobName(const std::string& text) {
  if (text.empty() || text.size() > 40 || text.back() == '-') return false;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return is_letter(text[0]) && std::all_of(text.begin(), text.end(),
                                           [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

// Returns the error message for a URI, an endpoint or an object name; "" for valid ones and for fields of other types.
std::string SyntaxProblem(const FieldSpec& field, const std::string& text) {
  switch (field.type) {
    case FieldType::kUri: return UriProblem(text, field.max_prefix);
    case FieldType::kEndpoint: return EndpointProblem(text);
    case FieldType::kObjectName: return ObjectNameProblem(text);
    default: return "";
  }
}

// Returns the error message for a value, or an item of a list, of the wrong type or out of range.
std::string DescribeMismatch(const FieldSpec& field, const YamlNode& node) {
  FieldSpec item = field;
  item.is_list = false;
  return "expected " + DescribeExpected(item) + ", found " + DescribeNode(node);
}

std::optional<Json> CheckInteger(const FieldSpec& field, const YamlNode& node) {
  if (!node.plain || !IsJsonInteger(node.text)) return std::nullopt;
  const std::optional<int64_t> value = ParseNumber<int64_t>(node.text);
  if (!value || *value < field.minimum_integer || *value > field.maximum_integer) return std::nullopt;
  return *value;
}

std::optional<Json> CheckNumber(const FieldSpec& field, const YamlNode& node) {
  if (!node.plain || !IsJsonNumber(node.text)) return std::nullopt;
  const std::optional<double> value = ParseNumber<double>(node.text);
  if (!value) return std::nullopt;
  const bool low = field.above_minimum ? *value <= field.minimum : *value < field.minimum;
  const bool high = field.below_maximum ? *value >= field.maximum : *value > field.maximum;
  if (low || high) return std::nullopt;
  return *value;
}

bool Contains(const std::vector<std::string>& values, const std::string& text) {
  return std::find(values.begin(), values.end(), text) != values.end();
}

bool FitsTextType(const FieldSpec& field, const std::string& text) {
  switch (field.type) {
    case FieldType::kName: return IsName(text);
    case FieldType::kEdgeType: return IsEdgeType(text);
    case FieldType::kPluginItem: return IsPluginItem(text);
    case FieldType::kJobName: return IsJobName(text);
    default: return text.size() <= field.max_length;
  }
}

std::optional<Json> CheckTextual(const FieldSpec& field, const YamlNode& node, const std::string& path,
                                 Violations* violations) {
  if (!CheckText(node, path, violations)) return std::nullopt;
  std::string problem;
  if (field.type == FieldType::kEnum && !Contains(field.values, node.text)) {
    problem = DescribeMismatch(field, node) + DidYouMean(node.text, field.values);
  } else if (const std::string syntax_problem = SyntaxProblem(field, node.text); !syntax_problem.empty()) {
    problem = syntax_problem;
  } else if (!FitsTextType(field, node.text)) {
    problem = DescribeMismatch(field, node);
  }
  if (problem.empty()) return field.type == FieldType::kUri ? CanonicalUri(node.text) : node.text;
  violations->Add(node.at, path, problem);
  return std::nullopt;
}

}  // namespace

std::string DescribeNode(const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::kNull: return "nothing";
    case YamlKind::kList: return "a list";
    case YamlKind::kMap: return "an object";
    case YamlKind::kScalar: break;
  }
  return (node.plain ? "" : "the text ") + Shown(node.text);
}

bool CheckText(const YamlNode& node, const std::string& path, Violations* violations) {
  const char* other = node.plain ? OtherTypeOfScalar(node.text) : nullptr;
  if (other == nullptr) return true;
  violations->Add(node.at, path,
                  "expected text; some YAML parsers read an unquoted '" + node.text + "' as " + other + ": write \"" +
                      node.text + "\" in quotes");
  return false;
}

std::optional<Json> CheckScalar(const FieldSpec& field, const YamlNode& node, const std::string& path,
                                Violations* violations) {
  if (node.kind != YamlKind::kScalar) {
    violations->Add(node.at, path, DescribeMismatch(field, node));
    return std::nullopt;
  }
  std::optional<Json> value;
  switch (field.type) {
    case FieldType::kInteger: value = CheckInteger(field, node); break;
    case FieldType::kNumber: value = CheckNumber(field, node); break;
    case FieldType::kBool:
      if (const auto parsed = ReadBool(node.text); node.plain && parsed.has_value()) value = *parsed;
      break;
    case FieldType::kMemorySize:
      if (ReadMemorySize(node.text).has_value()) value = Json(node.text);
      break;
    default: return CheckTextual(field, node, path, violations);
  }
  if (!value.has_value()) violations->Add(node.at, path, DescribeMismatch(field, node));
  return value;
}

}  // namespace espalier::job
