// One plugin: a shared library of a user's, loaded into this process (services/plugin/espalier_plugin.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/plugin/espalier_plugin.h"

namespace espalier::server {

// Which library, and what it is called by.
struct PluginFile {
  std::string name;
  std::string path;  // absolute
};

enum class FunctionKind : uint8_t {
  kCalledOnce = ESPALIER_CALLED_ONCE,
  kIdempotent = ESPALIER_IDEMPOTENT,
  kChanging = ESPALIER_CHANGING,  // changes tensors
};

// "name=/path/of/library.so". InvalidArgument says what is wrong with it.
Result<PluginFile> ParsePluginFile(const std::string& text);

// Immutable; thread-safe. The library stays loaded for as long as the process lives, because nobody knows what it has
// started.
class PluginLibrary {
 public:
  struct Function {
    std::string name;  // "plugin/function"
    EspalierFunction function = nullptr;
    FunctionKind kind = FunctionKind::kCalledOnce;
  };
  struct Initializer {
    std::string name;  // "plugin/initialiser"
    EspalierInitializer initializer = nullptr;
  };

  // Runs what the library runs when it is loaded. NotFound, PermissionDenied: the file; FailedPrecondition: it cannot
  // be loaded, is no plugin, is one of another version of the interface, or has functions or initialisers that cannot
  // be called. All name plugin and file.
  static Result<PluginLibrary> Load(const PluginFile& file);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }  // its author's; may be empty
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
