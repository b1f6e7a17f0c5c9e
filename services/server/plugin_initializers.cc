#include "services/server/plugin_initializers.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "services/server/plugin_host.h"

namespace espalier::server {
namespace {

constexpr size_t kGuardBytes = 64;  // after the rows
constexpr std::byte kGuard{0xa5};

// To a client that creates a tensor, NotFound means lost rows, so an initializer's NotFound is changed to another code.
Status NotFoundToFailedPrecondition(Status status) {
  return status.code() == StatusCode::kNotFound ? FailedPrecondition(status.message()) : status;
}

}  // namespace

Status PluginInitializers::CheckExists(const std::string& name) const {
  return plugins_->FindInitializer(name).status();
}

Status PluginInitializers::Fill(const sampler::RowsToFill& rows, Deadline deadline) const {
  const sampler::TensorSpec& spec = rows.spec;
  const std::string space = RowsName(spec.id.rows, rows.book);
  const std::string& stream = spec.initializer.stream.empty() ? spec.id.name : spec.initializer.stream;
  ASSIGN_OR_RETURN(const PluginLibrary::Initializer* const initializer,
                   plugins_->FindInitializer(spec.initializer.plugin));
  const size_t value_bytes = rows.values.size();
  std::vector<std::byte> values(value_bytes + kGuardBytes);
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(value_bytes), values.end(), kGuard);
  const EspalierRows requested{.space = space.c_str(),
                               .stream = stream.c_str(),
                               .seed = spec.initializer.seed,
                               .arguments = spec.initializer.arguments.data(),
                               .argument_bytes = spec.initializer.arguments.size(),
                               .total = FirstRows(spec.id.rows, rows.book).back(),
                               .count = rows.original_ids.size(),
                               .first_local = rows.first_local,
                               .original_ids = rows.original_ids.data(),
                               .row_shape = spec.row_shape.data(),
                               .row_rank = static_cast<uint32_t>(spec.row_shape.size()),
                               .dtype = static_cast<uint32_t>(spec.dtype),
                               .values = values.data(),
                               .value_bytes = value_bytes};
  EspalierCall call{.book = rows.book, .data = rows.partition, .deadline = deadline};
  const std::string what = "initializer '" + initializer->name + "'";
  size_t filled_bytes = 0;
  RETURN_IF_ERROR(NotFoundToFailedPrecondition(RunPlugin(
      what, &call, [&] { return initializer->initializer(&PluginHost(), &call, &requested, &filled_bytes); })));
  const auto guard = std::span(values).subspan(value_bytes);
  const bool is_over = std::any_of(guard.begin(), guard.end(), [](std::byte byte) { return byte != kGuard; });
  if (is_over || filled_bytes != value_bytes) {
    return Internal(what + ": it has filled " +
                    (is_over ? "more than the " + std::to_string(value_bytes)
                             : std::to_string(filled_bytes) + " of the " + std::to_string(value_bytes)) +
                    " bytes of " + std::to_string(rows.original_ids.size()) + " rows");
  }
  std::memcpy(rows.values.data(), values.data(), value_bytes);
  return Status();
}

}  // namespace espalier::server
