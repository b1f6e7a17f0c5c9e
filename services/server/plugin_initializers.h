// Initializes rows of tensors with the initializers of plugins.
#pragma once

#include <memory>
#include <string>

#include "services/sampler/access/row_initializers.h"
#include "services/server/plugin_functions.h"

namespace espalier::server {

// Thread-safe. Rows are filled on the calling thread, in a separate buffer with guard bytes at its end, so that writes
// of up to 64 bytes past the rows are detected and damage no tensor.
class PluginInitializers final : public sampler::RowInitializers {
 public:
  explicit PluginInitializers(std::shared_ptr<const PluginFunctions> plugins) : plugins_(std::move(plugins)) {}

  Status CheckExists(const std::string& name) const override;
  // Fills the rows. Errors: those of the initializer (RunPlugin), with FailedPrecondition in place of NotFound;
  // Internal if the initializer wrote past the rows, or reports another number of bytes than the rows have.
  Status Fill(const sampler::RowsToFill& rows, Deadline deadline) const override;

 private:
  const std::shared_ptr<const PluginFunctions> plugins_;
};

}  // namespace espalier::server
