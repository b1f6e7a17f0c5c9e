#include "services/format/files/json_fields.h"

#include <cmath>

namespace espalier::format {

using nlohmann::json;

Result<JsonFields> JsonFields::Of(const json& value, std::string path) {
  if (!value.is_object()) return InvalidArgument((path.empty() ? "the document" : path) + ": expected an object");
  return JsonFields(value, std::move(path));
}

Status JsonFields::InvalidField(const char* name, const std::string& what) const {
  return InvalidArgument(PathTo(name) + ": " + what);
}

Result<const json*> JsonFields::Find(const char* name) const {
  const auto found = object_->find(name);
  if (found == object_->end()) return InvalidField(name, "missing");
  return &*found;
}

Result<bool> JsonFields::Bool(const char* name) const {
  ASSIGN_OR_RETURN(const json* value, Find(name));
  if (!value->is_boolean()) return InvalidField(name, "expected true or false");
  return value->get<bool>();
}

Result<std::string> JsonFields::Text(const char* name) const {
  ASSIGN_OR_RETURN(const json* value, Find(name));
  if (!value->is_string()) return InvalidField(name, "expected a string");
  return value->get<std::string>();
}

Result<uint64_t> JsonFields::Unsigned(const char* name) const {
  ASSIGN_OR_RETURN(const json* value, Find(name));
  if (!value->is_number_unsigned()) return InvalidField(name, "expected an integer from 0 to 2^64 - 1");
  return value->get<uint64_t>();
}

Result<double> JsonFields::Real(const char* name) const {
  ASSIGN_OR_RETURN(const json* value, Find(name));
  if (!value->is_number() || !std::isfinite(value->get<double>())) return InvalidField(name, "expected a number");
  return value->get<double>();
}

Result<std::vector<uint64_t>> JsonFields::UnsignedList(const char* name) const {
  std::vector<uint64_t> numbers;
  RETURN_IF_ERROR(ForEach(name, [&](const json& element, const std::string& path) -> Status {
    if (!element.is_number_unsigned()) return InvalidArgument(path + ": expected an integer from 0 to 2^64 - 1");
    numbers.push_back(element.get<uint64_t>());
    return Status();
  }));
  return numbers;
}

Result<JsonFields> JsonFields::Object(const char* name) const {
  ASSIGN_OR_RETURN(const json* value, Find(name));
  return Of(*value, PathTo(name));
}

Status JsonFields::ForEach(const char* name,
                           const std::function<Status(const json& element, const std::string& path)>& body) const {
  ASSIGN_OR_RETURN(const json* value, Find(name));
  if (!value->is_array()) return InvalidField(name, "expected a list");
  for (size_t i = 0; i < value->size(); ++i) {
    RETURN_IF_ERROR(body((*value)[i], PathTo(name) + "[" + std::to_string(i) + "]"));
  }
  return Status();
}

Status JsonFields::ForEachField(
    const std::function<Status(const std::string& key, const json& value, const std::string& path)>& body) const {
  for (const auto& [key, value] : object_->items()) RETURN_IF_ERROR(body(key, value, PathTo(key)));
  return Status();
}

}  // namespace espalier::format
