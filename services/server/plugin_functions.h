// What the plugins of a graph server offer: functions that can be called, and initialisers of tensors.
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
  // Loads the files in this order, once in a process. The first error of PluginLibrary::Load; InvalidArgument where two
  // have one name.
  static Result<std::shared_ptr<const PluginFunctions>> Load(const std::vector<PluginFile>& files);

  bool empty() const { return by_name_.empty() && initializers_.empty(); }
  const std::map<std::string, Function>& by_name() const { return by_name_; }  // "plugin/function"
  // "plugin/initialiser"
  const std::map<std::string, PluginLibrary::Initializer>& initializers() const { return initializers_; }

  // Unimplemented names those that there are. Lives as long as this object.
  Result<const PluginLibrary::Function*> Find(const std::string& name) const;
  Result<const PluginLibrary::Initializer*> FindInitializer(const std::string& name) const;  // likewise

 private:
  std::map<std::string, Function> by_name_;
  std::map<std::string, PluginLibrary::Initializer> initializers_;
};

}  // namespace espalier::server
