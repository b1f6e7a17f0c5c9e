// Reads the fields of an untrusted JSON object. Every error names the field by its path, for example
// "partitions[3].graph.size_bytes".
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::format {

// A view of one object. The accessors return InvalidArgument if the field is missing or has another type. Fields that
// are not accessed are ignored.
class JsonFields {
 public:
  // Returns a view of `value`, which must outlive the view; InvalidArgument if it is not an object. `path` is the path
  // of the object in the document, "" for the document itself.
  static Result<JsonFields> Of(const nlohmann::json& value, std::string path);

  bool Has(const char* name) const { return object_->contains(name); }
  Result<bool> Bool(const char* name) const;
  Result<std::string> Text(const char* name) const;
  Result<uint64_t> Unsigned(const char* name) const;
  Result<double> Real(const char* name) const;  // finite
  Result<std::vector<uint64_t>> UnsignedList(const char* name) const;
  Result<JsonFields> Object(const char* name) const;
  // Calls body(element, path of the element) for each element of a list. Stops at the first error and returns it.
  Status ForEach(const char* name,
                 const std::function<Status(const nlohmann::json& element, const std::string& path)>& body) const;
  // Calls body(key, value, path of the field) for each field of this object. Stops at the first error and returns it.
  Status ForEachField(const std::function<Status(const std::string& key, const nlohmann::json& value,
                                                 const std::string& path)>& body) const;

  // Returns InvalidArgument("<path of name>: <what>").
  Status InvalidField(const char* name, const std::string& what) const;

 private:
  JsonFields(const nlohmann::json& object, std::string path) : object_(&object), path_(std::move(path)) {}
  Result<const nlohmann::json*> Find(const char* name) const;
  std::string PathTo(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  const nlohmann::json* object_;  // must outlive this object
  std::string path_;
};

}  // namespace espalier::format
