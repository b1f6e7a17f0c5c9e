// A query has two phases. ReadFirst assumes that a row has kGuessedRowBytes and reads as many rows as then fit into a
// response; if the response is too large, it reads a single row instead. ReadRemaining computes from the actual row
// size how many rows fit into a response and reads the remaining edges in pieces of that many rows.
#include "services/client/remote/edge_row_pieces.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/client/remote/call_window.h"
#include "services/client/remote/row_pieces.h"
#include "services/messages/wire_ids.h"
#include "services/rpc/frame.h"

namespace espalier::client {
namespace {

constexpr const char* kGatherEdgeRows = "/espalier.graph.v1.GraphStore/GatherEdgeRows";
// Assumed size of a row for the first call. The first response still fits into a message if rows have several times
// this size.
constexpr size_t kGuessedRowBytes = size_t{16} << 10;

// State shared by all calls of a query.
struct EdgeRowsGather {
  const EdgeRowsQuery row_query;
  std::vector<Tensor> pieces;  // in the order of the edges
};

// The edges [first, last) of a query.
struct EdgeRange {
  size_t first = 0, last = 0;
  size_t rows_per_call = 1;

  // Returns at least 1: a query for no rows checks that the column exists.
  size_t num_pieces() const { return std::max<size_t>(1, (last - first + rows_per_call - 1) / rows_per_call); }
  std::span<const GlobalEdgeId> Piece(std::span<const GlobalEdgeId> edges, size_t piece) const {
    const size_t begin = first + piece * rows_per_call;
    return edges.subspan(begin, std::min(rows_per_call, last - begin));
  }
};

Result<Tensor> DecodeEdgeRows(const grpc::ByteBuffer& reply, size_t count) {
  ASSIGN_OR_RETURN(rpc::Frame<graph::v1::GatherEdgeRowsResponse> frame,
                   rpc::DecodeFrame<graph::v1::GatherEdgeRowsResponse>(reply));
  if (frame.tensors.size() != 1) {
    return InvalidArgument("the reply of the server has " + std::to_string(frame.tensors.size()) +
                           " tensors, expected 1");
  }
  Tensor& rows = frame.tensors.front();
  if (!rows.shape().empty() && static_cast<size_t>(rows.num_rows()) == count) return std::move(rows);
  return InvalidArgument("the server sent " + rows.ToString() + " as rows of " + std::to_string(count) + " edges");
}

// Checks that a piece has the dtype and row shape of the first piece. JoinRows allocates memory for all rows according
// to the first piece, so a piece that differs from it must fail when it arrives.
Status CheckSameRowShape(const Tensor& first, const Tensor& rows) {
  const bool is_same = first.dtype() == rows.dtype() && first.shape().size() == rows.shape().size() &&
                       std::equal(first.shape().begin() + 1, first.shape().end(), rows.shape().begin() + 1);
  if (is_same) return Status();
  return InvalidArgument("the server sent rows " + rows.ToString() + ", expected the dtype and row shape of " +
                         first.ToString());
}

// Reads a range of edges and appends the rows to gather->pieces.
void ReadRange(const std::shared_ptr<EdgeRowsGather>& gather, const EdgeRange& range, Deadline deadline,
               sampler::DoneStatus done) {
  const size_t num_before = gather->pieces.size();
  PiecewiseRequest requested{.method = kGatherEdgeRows, .num_pieces = range.num_pieces()};
  gather->pieces.resize(num_before + requested.num_pieces);
  requested.encode_request = [gather, range](size_t piece) {
    const Tensor ids = messages::WideIdTensor(range.Piece(gather->row_query.edges, piece));
    return rpc::EncodeFrame(gather->row_query.header, std::span(&ids, 1));
  };
  requested.handle_reply = [gather, range, num_before](size_t piece, const grpc::ByteBuffer& reply) -> Status {
    Tensor& rows = gather->pieces[num_before + piece];
    ASSIGN_OR_RETURN(rows, DecodeEdgeRows(reply, range.Piece(gather->row_query.edges, piece).size()));
    return num_before == 0 ? Status() : CheckSameRowShape(gather->pieces.front(), rows);
  };
  const EdgeRowsQuery& row_query = gather->row_query;
  RequestInPieces(row_query.callee, std::move(requested), row_query.calls_in_flight, deadline, std::move(done));
}

Result<Tensor> JoinRows(EdgeRowsGather& gather) {
  if (gather.pieces.size() == 1) return std::move(gather.pieces.front());
  RowPieces rows(gather.row_query.edges.size());
  for (Tensor& piece : gather.pieces) RETURN_IF_ERROR(rows.Add(std::exchange(piece, Tensor())));
  return rows.Take();
}

// Reads the edges after the first `num_first`, with as many rows per call as the size of the first rows allows.
void ReadRemaining(const std::shared_ptr<EdgeRowsGather>& gather, size_t num_first, Deadline deadline,
                   const sampler::Done<Tensor>& done) {
  const EdgeRowsQuery& row_query = gather->row_query;
  const size_t num_edges = row_query.edges.size();
  if (num_first == num_edges) return done(JoinRows(*gather));
  const size_t row_bytes = std::max<size_t>(1, gather->pieces.front().row_bytes());
  const EdgeRange remaining{.first = num_first,
                            .last = num_edges,
                            .rows_per_call = std::max<size_t>(1, row_query.reply_bytes_per_call / row_bytes)};
  ReadRange(gather, remaining, deadline,
            [gather, done](const Status& status) { done(status.ok() ? JoinRows(*gather) : Result<Tensor>(status)); });
}

// Reads the first `num_first` edges, then the remaining ones.
void ReadFirst(const std::shared_ptr<EdgeRowsGather>& gather, size_t num_first, Deadline deadline,
               sampler::Done<Tensor> done) {
  const EdgeRange first_edges{.first = 0, .last = num_first, .rows_per_call = std::max<size_t>(1, num_first)};
  ReadRange(gather, first_edges, deadline, [gather, num_first, deadline, done = std::move(done)](const Status& status) {
    if (status.ok()) return ReadRemaining(gather, num_first, deadline, done);
    // The first rows do not fit into a response: read a single row to learn its size.
    if (status.code() != StatusCode::kResourceExhausted || num_first <= 1) return done(status);
    gather->pieces.clear();
    ReadFirst(gather, 1, deadline, done);
  });
}

}  // namespace

void RequestEdgeRows(EdgeRowsQuery row_query, Deadline deadline, sampler::Done<Tensor> done) {
  const size_t num_first =
      std::min(row_query.edges.size(), std::max<size_t>(1, row_query.reply_bytes_per_call / kGuessedRowBytes));
  const auto gather = std::make_shared<EdgeRowsGather>(EdgeRowsGather{.row_query = std::move(row_query), .pieces = {}});
  ReadFirst(gather, num_first, deadline, std::move(done));
}

}  // namespace espalier::client
