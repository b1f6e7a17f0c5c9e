// Responses that consist of rows, and empty responses, for the services GraphStore, TensorStore and EmbeddingStore.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "services/messages/request_tensors.h"
#include "services/sampler/access/row_sink.h"
#include "services/server/framed_call.h"

namespace espalier::server {

// The rows of a response under construction: written in place, in the order of the request, and sent without a copy.
class RowReply {
 public:
  // Allocates the rows. `query` owns the memory of the requested ids and is kept until the response is sent.
  // ResourceExhausted: the response would exceed limits.max_reply_bytes.
  static Result<std::shared_ptr<RowReply>> Make(size_t num_rows, uint64_t row_bytes, Tensor query,
                                                const ServiceLimits& limits);

  // Returns the sink to gather into; valid as long as this object.
  sampler::RowSink sink() const { return {bytes_.get(), row_bytes_, positions_}; }
  // Returns U8 [num_rows, row_bytes], which shares ownership of the memory.
  Tensor rows() const;

 private:
  RowReply(size_t num_rows, uint64_t row_bytes, Tensor query);

  std::shared_ptr<std::byte[]> bytes_;
  uint64_t row_bytes_;
  std::vector<uint32_t> positions_;  // 0, 1, 2, ...
  Tensor query_;
};

// Returns a callback that finishes the call with the rows, or with the error.
template <class Response>
sampler::DoneStatus AnswerRows(std::shared_ptr<FramedCall> call, std::shared_ptr<const RowReply> reply) {
  return [call = std::move(call), reply = std::move(reply)](const Status& status) {
    if (!status.ok()) return call->Finish(status);
    call->FinishWith(Response(), {reply->rows()});
  };
}

// Returns a callback that finishes the call with an empty response, or with the error.
template <class Response>
sampler::DoneStatus Acknowledge(std::shared_ptr<FramedCall> call) {
  return [call = std::move(call)](const Status& status) {
    if (!status.ok()) return call->Finish(status);
    call->FinishWith(Response(), {});
  };
}

}  // namespace espalier::server
