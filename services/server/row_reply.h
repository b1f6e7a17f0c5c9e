// Answers that consist of rows, and answers that consist of nothing: what the services of columns, tensors and
// embeddings have in common.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "services/messages/request_tensors.h"
#include "services/sampler/access/row_sink.h"
#include "services/server/framed_call.h"

namespace espalier::server {

// The rows of a reply in the making: written in place, in the order of the question, then sent from there.
class RowReply {
 public:
  // ResourceExhausted where an answer may not be so large. `question` holds what the asked ids point into, until the
  // answer is sent.
  static Result<std::shared_ptr<RowReply>> Make(size_t num_rows, uint64_t row_bytes, Tensor question,
                                                const ServiceLimits& limits);

  // Lives as long as this.
  sampler::RowSink sink() const { return {bytes_.get(), row_bytes_, positions_}; }
  // U8 [rows, row_bytes], which keeps the bytes.
  Tensor rows() const;

 private:
  RowReply(size_t num_rows, uint64_t row_bytes, Tensor question);

  std::shared_ptr<std::byte[]> bytes_;
  uint64_t row_bytes_;
  std::vector<uint32_t> positions_;  // 0, 1, 2, ...
  Tensor question_;
};

// Answers with the rows, or with the error.
template <class Response>
sampler::DoneStatus AnswerRows(std::shared_ptr<FramedCall> call, std::shared_ptr<const RowReply> reply) {
  return [call = std::move(call), reply = std::move(reply)](const Status& status) {
    if (!status.ok()) return call->Finish(status);
    call->FinishWith(Response(), {reply->rows()});
  };
}

// Answers with nothing but success, or with the error.
template <class Response>
sampler::DoneStatus Acknowledge(std::shared_ptr<FramedCall> call) {
  return [call = std::move(call)](const Status& status) {
    if (!status.ok()) return call->Finish(status);
    call->FinishWith(Response(), {});
  };
}

}  // namespace espalier::server
