// A health check: a call that every server serves.
#pragma once

#include <grpcpp/support/byte_buffer.h>

namespace espalier::rpc::testing {

inline constexpr const char* kHealth = "/grpc.health.v1.Health/Check";
inline grpc::ByteBuffer Empty() { return grpc::ByteBuffer(nullptr, 0); }

}  // namespace espalier::rpc::testing
