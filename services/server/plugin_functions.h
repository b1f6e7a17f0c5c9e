// What can be called on a graph server: the functions of all its plugins.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/server/plugin_library.h"

namespace espalier::server {

// Immutable; thread-safe.
class PluginFunctions {
 public:
  struct Function {
    PluginLibrary::Function function;
    std::string plugin_version;
  };

  // None.
  PluginFunctions() = default;
  // Loads them in this order, once in a process. The first error of PluginLibrary::Load; InvalidArgument where two have
  // one name.
  static Result<std::shared_ptr<const PluginFunctions>> Load(const std::vector<PluginFile>& files);

  bool empty() const { return by_name_.empty(); }
  const std::map<std::string, Function>& by_name() const { return by_name_; }  // "plugin/function"

  // Unimplemented names those that there are. Lives as long as this object.
  Result<const PluginLibrary::Function*> Find(const std::string& name) const;

 private:
  std::map<std::string, Function> by_name_;
};

}  // namespace espalier::server
