#include "operator/schema/yaml_text.h"

#include <algorithm>

#include "services/job/text/scalars.h"

namespace espalier::ctl::schema {
namespace {

using Json = nlohmann::ordered_json;

bool IsPlainCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view(" _./()+;,-").find(c) != std::string_view::npos;
}

bool IsPlain(const std::string& text) {
  if (text.empty() || text.back() == ' ' || std::string_view(" -,").find(text.front()) != std::string_view::npos) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), IsPlainCharacter) && !job::ReadsAsNull(text) &&
         job::OtherTypeOfScalar(text) == nullptr;
}

std::string Quoted(const std::string& text) {
  const bool has_control = std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; });
  if (has_control) return Json(text).dump();
  // Uses the quotes that need less escaping: CEL rules have many single quotes, regular expressions many backslashes.
  if (text.find_first_of("\"\\") == std::string::npos && text.find('\'') != std::string::npos) return '"' + text + '"';
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

std::string QuoteIfNeeded(const std::string& text) { return IsPlain(text) ? text : Quoted(text); }

bool IsBlock(const Json& value) { return value.is_structured() && !value.empty(); }

void Append(const Json& value, size_t indent, std::string* yaml);

// Appends a scalar after "key:" or "-".
void AppendScalar(const Json& value, std::string* yaml) {
  *yaml += ' ' + (value.is_string() ? QuoteIfNeeded(value.get<std::string>()) : value.dump()) + '\n';
}

void AppendList(const Json& list, size_t indent, std::string* yaml) {
  for (const Json& item : list) {
    *yaml += std::string(indent, ' ') + '-';
    if (!IsBlock(item)) {
      AppendScalar(item, yaml);
      continue;
    }
    std::string block;
    Append(item, indent + 2, &block);
    *yaml += ' ' + block.substr(indent + 2);  // the first line follows the dash
  }
}

void AppendMap(const Json& map, size_t indent, std::string* yaml) {
  for (const auto& [key, value] : map.items()) {
    *yaml += std::string(indent, ' ') + QuoteIfNeeded(key) + ':';
    if (!IsBlock(value)) {
      AppendScalar(value, yaml);
      continue;
    }
    *yaml += '\n';
    Append(value, value.is_array() ? indent : indent + 2, yaml);
  }
}

void Append(const Json& value, size_t indent, std::string* yaml) {
  if (value.is_array()) {
    AppendList(value, indent, yaml);
  } else {
    AppendMap(value, indent, yaml);
  }
}

}  // namespace

std::string ToYaml(const Json& value) {
  std::string yaml;
  if (IsBlock(value)) {
    Append(value, 0, &yaml);
  } else {
    AppendScalar(value, &yaml);
    yaml.erase(0, 1);
  }
  return yaml;
}

}  // namespace espalier::ctl::schema
