#include "services/server/plugin_call.h"

#include <utility>

#include "services/server/plugin_host.h"

namespace espalier::server {

Result<Tensor> CallPlugin(const PluginLibrary::Function& function, const PluginPartition& partition,
                          std::span<const std::byte> request, const PluginCallOptions& options) {
  EspalierCall call{.book = *partition.book,
                    .data = *partition.data,
                    .deadline = options.deadline,
                    .is_cancelled = options.is_cancelled,
                    .max_response_bytes = options.max_response_bytes,
                    .tensors = options.tensors};
  const std::string what = "function '" + function.name + "'";
  RETURN_IF_ERROR(
      RunPlugin(what, &call, [&] { return function.function(&PluginHost(), &call, request.data(), request.size()); }));
  if (options.tensors != nullptr) RETURN_IF_ERROR(options.tensors->Apply().While(what));
  // AnswerCache keeps this response for repeated requests and counts only its size. A vector that grew by appending may
  // have twice that capacity.
  if (function.kind == FunctionKind::kChanging) call.response.shrink_to_fit();
  return Tensor::FromVector(std::move(call.response));
}

}  // namespace espalier::server
