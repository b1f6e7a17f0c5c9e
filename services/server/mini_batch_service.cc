#include "services/server/mini_batch_service.h"

#include <utility>

#include "services/server/batch_stream.h"

namespace espalier::server {

MiniBatchService::MiniBatchService(sampler::NeighborSource& neighbors, sampler::SeedSource& seeds,
                                   const ServiceContext& context, MiniBatchServiceOptions options)
    : neighbors_(neighbors), seeds_(seeds), context_(context), options_(std::move(options)) {}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* MiniBatchService::Stream(
    grpc::CallbackServerContext* context) {
  return BatchStream::Start(*this, context);
}

}  // namespace espalier::server
