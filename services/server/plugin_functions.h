// The functions and tensor initializers that the plugins of a graph server provide.
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

  // Has no functions and no initializers.
  PluginFunctions() = default;
  // Loads the files in this order; a file that this process has loaded before is not loaded again. Returns the first
  // error of PluginLibrary::Load, or InvalidArgument if two plugins have the same name.
  static Result<std::shared_ptr<const PluginFunctions>> Load(const std::vector<PluginFile>& files);

  bool empty() const { return by_name_.empty() && initializers_.empty(); }
  // The keys are "plugin/function" and "plugin/initializer".
  const std::map<std::string, Function>& by_name() const { return by_name_; }
  const std::map<std::string, PluginLibrary::Initializer>& initializers() const { return initializers_; }

  // Returns the function, which lives as long as this object, or Unimplemented with the names of the existing
  // functions.
  Result<const PluginLibrary::Function*> Find(const std::string& name) const;
  Result<const PluginLibrary::Initializer*> FindInitializer(const std::string& name) const;  // like Find

 private:
  std::map<std::string, Function> by_name_;
  std::map<std::string, PluginLibrary::Initializer> initializers_;
};

}  // namespace espalier::server
