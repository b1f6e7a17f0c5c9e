// Conversion between Status and grpc::Status. The numbers of the codes are equal.
#pragma once

#include <grpcpp/support/status.h>

#include "services/base/status.h"

namespace espalier::rpc {

static_assert(static_cast<int>(StatusCode::kOk) == grpc::StatusCode::OK);
static_assert(static_cast<int>(StatusCode::kCancelled) == grpc::StatusCode::CANCELLED);
static_assert(static_cast<int>(StatusCode::kUnknown) == grpc::StatusCode::UNKNOWN);
static_assert(static_cast<int>(StatusCode::kInvalidArgument) == grpc::StatusCode::INVALID_ARGUMENT);
static_assert(static_cast<int>(StatusCode::kDeadlineExceeded) == grpc::StatusCode::DEADLINE_EXCEEDED);
static_assert(static_cast<int>(StatusCode::kNotFound) == grpc::StatusCode::NOT_FOUND);
static_assert(static_cast<int>(StatusCode::kAlreadyExists) == grpc::StatusCode::ALREADY_EXISTS);
static_assert(static_cast<int>(StatusCode::kPermissionDenied) == grpc::StatusCode::PERMISSION_DENIED);
static_assert(static_cast<int>(StatusCode::kResourceExhausted) == grpc::StatusCode::RESOURCE_EXHAUSTED);
static_assert(static_cast<int>(StatusCode::kFailedPrecondition) == grpc::StatusCode::FAILED_PRECONDITION);
static_assert(static_cast<int>(StatusCode::kAborted) == grpc::StatusCode::ABORTED);
static_assert(static_cast<int>(StatusCode::kOutOfRange) == grpc::StatusCode::OUT_OF_RANGE);
static_assert(static_cast<int>(StatusCode::kUnimplemented) == grpc::StatusCode::UNIMPLEMENTED);
static_assert(static_cast<int>(StatusCode::kInternal) == grpc::StatusCode::INTERNAL);
static_assert(static_cast<int>(StatusCode::kUnavailable) == grpc::StatusCode::UNAVAILABLE);
static_assert(static_cast<int>(StatusCode::kDataLoss) == grpc::StatusCode::DATA_LOSS);
static_assert(static_cast<int>(StatusCode::kUnauthenticated) == grpc::StatusCode::UNAUTHENTICATED);

// Longer messages are shortened in the middle: they are sent in HTTP/2 trailers, which peers limit to 8 KiB.
inline constexpr size_t kMaxStatusMessageBytes = 4096;

grpc::Status ToGrpc(const Status& status);
// Unknown codes become kUnknown.
Status FromGrpc(const grpc::Status& status);

}  // namespace espalier::rpc
