// One plugin: a user's shared library, loaded into this process (services/plugin/espalier_plugin.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/plugin/espalier_plugin.h"

namespace espalier::server {

// A plugin's library and the name under which it is used.
struct PluginFile {
  std::string name;
  std::string path;  // absolute
};

enum class FunctionKind : uint8_t {
  kCalledOnce = ESPALIER_CALLED_ONCE,  // clients do not retry calls
  kIdempotent = ESPALIER_IDEMPOTENT,   // clients retry calls
  kChanging = ESPALIER_CHANGING,       // changes tensors; clients retry calls, but the function runs once
};

// Parses "name=/path/of/library.so". InvalidArgument: the text is not of this form.
Result<PluginFile> ParsePluginFile(const std::string& text);

// Immutable; thread-safe. The library is never unloaded, because it may have started threads or registered callbacks.
class PluginLibrary {
 public:
  struct Function {
    std::string name;  // "plugin/function"
    EspalierFunction function = nullptr;
    FunctionKind kind = FunctionKind::kCalledOnce;
  };
  struct Initializer {
    std::string name;  // "plugin/initializer"
    EspalierInitializer initializer = nullptr;
  };

  // Loads the library, which runs its static initializers. Errors name the plugin and the file: NotFound or
  // PermissionDenied for the file; InvalidArgument: the plugin's name is invalid or the path is not absolute;
  // FailedPrecondition: the library cannot be loaded, is not a plugin, has an unsupported version of the interface, or
  // its tables of functions and initializers are invalid.
  static Result<PluginLibrary> Load(const PluginFile& file);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }  // set by the plugin's author; may be empty
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Initializer>& initializers() const { return initializers_; }

 private:
  PluginLibrary() = default;

  std::string name_;
  std::string version_;
  std::vector<Function> functions_;
  std::vector<Initializer> initializers_;
};

}  // namespace espalier::server
