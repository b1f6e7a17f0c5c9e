// First values of tensors by the initialisers of plugins.
#pragma once

#include <memory>
#include <string>

#include "services/sampler/access/row_initializers.h"
#include "services/server/plugin_functions.h"

namespace espalier::server {

// Thread-safe. Rows are filled on the asking thread, in memory of their own: what an initialiser writes past their end
// is found and harms no tensor (up to 64 bytes; nobody can answer for more).
class PluginInitializers final : public sampler::RowInitializers {
 public:
  explicit PluginInitializers(std::shared_ptr<const PluginFunctions> plugins) : plugins_(std::move(plugins)) {}

  Status CheckExists(const std::string& name) const override;
  // Internal: the initialiser has filled fewer bytes or more than it was to.
  Status Fill(const sampler::RowsToFill& rows, Deadline deadline) const override;

 private:
  const std::shared_ptr<const PluginFunctions> plugins_;
};

}  // namespace espalier::server
