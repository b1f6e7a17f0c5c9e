#include "services/rpc/server_answer.h"

namespace espalier::rpc {
namespace {

constexpr const char* kMark = "espalier-answer";

}  // namespace

void MarkAsAnswer(grpc::ServerContextBase& context, const Status& status) {
  if (status.code() == StatusCode::kUnavailable) context.AddTrailingMetadata(kMark, "1");
}

bool WasAnswered(const grpc::ClientContext& context) { return context.GetServerTrailingMetadata().contains(kMark); }

}  // namespace espalier::rpc
