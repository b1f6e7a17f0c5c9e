#include "services/client/remote/edge_row_pieces.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/client/remote/call_window.h"
#include "services/client/remote/row_pieces.h"
#include "services/client/remote/wire_ids.h"
#include "services/rpc/frame.h"

namespace espalier::client {
namespace {

constexpr const char* kGatherEdgeRows = "/espalier.graph.v1.GraphStore/GatherEdgeRows";
// What a row is taken for until the first ones have come. Rows may be far wider than this before so many of them are
// more than a message holds.
constexpr size_t kGuessedRowBytes = size_t{16} << 10;

// What all calls of a question share.
struct EdgeRowsGather {
  const EdgeRowsQuestion question;
  std::vector<Tensor> pieces;  // in the order of the edges
};

// The edges [first, last) of a question.
struct EdgeStretch {
  size_t first = 0, last = 0;
  size_t rows_per_call = 1;

  // No rows are still a question: the column may not exist.
  size_t num_pieces() const { return std::max<size_t>(1, (last - first + rows_per_call - 1) / rows_per_call); }
  std::span<const GlobalEdgeId> Piece(std::span<const GlobalEdgeId> edges, size_t piece) const {
    const size_t begin = first + piece * rows_per_call;
    return edges.subspan(begin, std::min(rows_per_call, last - begin));
  }
};

Result<Tensor> EdgeRowsIn(const grpc::ByteBuffer& reply, size_t count) {
  ASSIGN_OR_RETURN(rpc::Frame<graph::v1::GatherEdgeRowsResponse> frame,
                   rpc::DecodeFrame<graph::v1::GatherEdgeRowsResponse>(reply));
  if (frame.tensors.size() != 1) return InvalidArgument("the server's reply has not one tensor");
  Tensor& rows = frame.tensors.front();
  if (!rows.shape().empty() && static_cast<size_t>(rows.num_rows()) == count) return std::move(rows);
  return InvalidArgument("the server sent " + rows.ToString() + " as rows of " + std::to_string(count) + " edges");
}

// Of pieces that have come: whoever puts them together makes room for all by the first.
Status CheckRowsAreAlike(const Tensor& first, const Tensor& rows) {
  const bool alike = first.dtype() == rows.dtype() && first.shape().size() == rows.shape().size() &&
                     std::equal(first.shape().begin() + 1, first.shape().end(), rows.shape().begin() + 1);
  if (alike) return Status();
  return InvalidArgument("the server sent rows " + rows.ToString() + " after " + first.ToString());
}

// Asks for a stretch, whose pieces go behind those that are there.
void AskForStretch(const std::shared_ptr<EdgeRowsGather>& gather, const EdgeStretch& stretch, Deadline deadline,
                   sampler::DoneStatus done) {
  const size_t num_before = gather->pieces.size();
  PiecedQuestion asked{.method = kGatherEdgeRows, .num_pieces = stretch.num_pieces()};
  gather->pieces.resize(num_before + asked.num_pieces);
  asked.request_of = [gather, stretch](size_t piece) {
    const Tensor ids = WideIdTensor(stretch.Piece(gather->question.edges, piece));
    return rpc::EncodeFrame(gather->question.header, std::span(&ids, 1));
  };
  asked.take_reply = [gather, stretch, num_before](size_t piece, const grpc::ByteBuffer& reply) -> Status {
    Tensor& rows = gather->pieces[num_before + piece];
    ASSIGN_OR_RETURN(rows, EdgeRowsIn(reply, stretch.Piece(gather->question.edges, piece).size()));
    return num_before == 0 ? Status() : CheckRowsAreAlike(gather->pieces.front(), rows);
  };
  const EdgeRowsQuestion& question = gather->question;
  AskInPieces(question.callee, std::move(asked), question.calls_in_flight, deadline, std::move(done));
}

Result<Tensor> JoinedRows(EdgeRowsGather& gather) {
  if (gather.pieces.size() == 1) return std::move(gather.pieces.front());
  RowPieces rows(gather.question.edges.size());
  for (Tensor& piece : gather.pieces) RETURN_IF_ERROR(rows.Add(std::exchange(piece, Tensor())));
  return rows.Take();
}

// Edges behind the first ones, whose rows have come and say how many of them a call takes.
void AskForOthers(const std::shared_ptr<EdgeRowsGather>& gather, size_t num_first, Deadline deadline,
                  const sampler::Done<Tensor>& done) {
  const EdgeRowsQuestion& question = gather->question;
  const size_t num_edges = question.edges.size();
  if (num_first == num_edges) return done(JoinedRows(*gather));
  const size_t row_bytes = std::max<size_t>(1, gather->pieces.front().row_bytes());
  const EdgeStretch others{.first = num_first,
                           .last = num_edges,
                           .rows_per_call = std::max<size_t>(1, question.reply_bytes_per_call / row_bytes)};
  AskForStretch(gather, others, deadline, [gather, done](const Status& status) {
    done(status.ok() ? JoinedRows(*gather) : Result<Tensor>(status));
  });
}

void AskForFirst(const std::shared_ptr<EdgeRowsGather>& gather, size_t num_first, Deadline deadline,
                 sampler::Done<Tensor> done) {
  const EdgeStretch beginning{.first = 0, .last = num_first, .rows_per_call = std::max<size_t>(1, num_first)};
  AskForStretch(gather, beginning, deadline,
                [gather, num_first, deadline, done = std::move(done)](const Status& status) {
                  if (status.ok()) return AskForOthers(gather, num_first, deadline, done);
                  // Rows so wide that a message does not hold what were guessed to be few: a single one says how wide.
                  if (status.code() != StatusCode::kResourceExhausted || num_first <= 1) return done(status);
                  gather->pieces.clear();
                  AskForFirst(gather, 1, deadline, done);
                });
}

}  // namespace

void AskForEdgeRows(EdgeRowsQuestion question, Deadline deadline, sampler::Done<Tensor> done) {
  const size_t num_first =
      std::min(question.edges.size(), std::max<size_t>(1, question.reply_bytes_per_call / kGuessedRowBytes));
  const auto gather = std::make_shared<EdgeRowsGather>(EdgeRowsGather{.question = std::move(question), .pieces = {}});
  AskForFirst(gather, num_first, deadline, std::move(done));
}

}  // namespace espalier::client
