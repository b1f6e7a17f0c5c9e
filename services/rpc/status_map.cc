#include "services/rpc/status_map.h"

#include "services/base/shorten.h"

namespace espalier::rpc {

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      ShortenMiddle(status.message(), kMaxStatusMessageBytes));
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status();
  const int code = static_cast<int>(status.error_code());
  const bool is_known = code > 0 && code <= static_cast<int>(StatusCode::kUnauthenticated);
  return Status(is_known ? static_cast<StatusCode>(code) : StatusCode::kUnknown, status.error_message());
}

}  // namespace espalier::rpc
