// Each query encodes a request, sends it in one call (rpc/call.h) or in pieces (call_window.h), and validates the
// dtypes, shapes and ids of the response, because a response is untrusted input. Callbacks capture shared state, so a
// pending query does not depend on the lifetime of the RemotePartition. For sampling, the size of a response is only
// estimated: if the server refuses a piece because its response would be too large, RequestPieces requests the two
// halves instead, until every response has arrived.
#include "services/client/remote/remote_partition.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/client/remote/call_window.h"
#include "services/client/remote/edge_row_pieces.h"
#include "services/client/remote/place_rows.h"
#include "services/client/remote/sample_pieces.h"
#include "services/messages/seed_messages.h"
#include "services/messages/wire_ids.h"
#include "services/rpc/frame.h"
#include "services/sampler/access/draw_rule.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {
namespace {

constexpr const char* kSampleNeighbors = "/espalier.graph.v1.GraphStore/SampleNeighbors";
constexpr const char* kGatherRows = "/espalier.graph.v1.GraphStore/GatherRows";
constexpr const char* kSeedsOfStep = "/espalier.graph.v1.GraphStore/SeedsOfStep";
constexpr const char* kLookUp = "/espalier.graph.v1.GraphStore/LookUp";
constexpr const char* kInDegrees = "/espalier.graph.v1.GraphStore/InDegrees";
constexpr const char* kFindEdges = "/espalier.graph.v1.GraphStore/FindEdges";

// Sends a request in one call and calls `done` with the result of check(tensor), where `tensor` is the single tensor of
// the response.
template <class Response, class Check>
void RequestTensor(rpc::Callee callee, const char* method, const grpc::ByteBuffer& request, Deadline deadline,
                   sampler::Done<Tensor> done, Check check) {
  rpc::CallWithRetries(std::move(callee), method, request, deadline,
                       [done = std::move(done), check = std::move(check)](Result<grpc::ByteBuffer> reply) {
                         if (!reply.ok()) return done(reply.status());
                         Result<rpc::Frame<Response>> frame = rpc::DecodeFrame<Response>(*reply);
                         if (!frame.ok()) return done(frame.status());
                         if (frame->tensors.size() != 1) {
                           return done(InvalidArgument("the reply of the server has " +
                                                       std::to_string(frame->tensors.size()) + " tensors, expected 1"));
                         }
                         done(check(std::move(frame->tensors[0])));
                       });
}

// Checks endpoints of edges, U32 or I64 [2, count], and returns them as I64 [2, count]. InvalidArgument: another dtype
// or shape, or a node that does not exist.
Result<Tensor> CheckEndpoints(Tensor ends, size_t count, uint64_t num_sources, uint64_t num_destinations) {
  const std::vector<int64_t> shape = {2, static_cast<int64_t>(count)};
  const bool is_ends = (ends.dtype() == DType::kU32 || ends.dtype() == DType::kI64) && ends.shape() == shape;
  if (!is_ends)
    return InvalidArgument("the server returned endpoints " + ends.ToString() + " of " + std::to_string(count) +
                           " edges, expected U32 or I64 [2, " + std::to_string(count) + "]");
  std::vector<int64_t> wide(2 * count);
  for (size_t i = 0; i < wide.size(); ++i) {
    wide[i] = ends.dtype() == DType::kU32 ? int64_t{ends.values<uint32_t>()[i]} : ends.values<int64_t>()[i];
    const uint64_t limit = i < count ? num_sources : num_destinations;
    if (wide[i] < 0 || static_cast<uint64_t>(wide[i]) >= limit) {
      return InvalidArgument("the server returned endpoint " + std::to_string(wide[i]) + ", expected a node below " +
                             std::to_string(limit));
    }
  }
  return Tensor::FromVector(std::move(wide), shape);
}

// State of a pending hop.
struct PendingHop {
  const rpc::Callee callee;
  const size_t calls_in_flight;
  const std::shared_ptr<const graph::PartitionBook> book;
  const tensor::v1::RequestIdentity identity;
  sampler::PartitionHopQuery query;
  std::vector<SamplePiece> pieces = {};                                     // in the order of the query
  std::vector<std::vector<sampler::PartitionRelationSample>> samples = {};  // by piece
  // By piece: the two pieces that replace it if its response is too large; otherwise empty.
  std::vector<std::vector<SamplePiece>> halves = {};
};

// Replaces each piece whose response was too large with its two halves. Returns the indices of the halves.
std::vector<size_t> ReplaceByHalves(PendingHop& hop) {
  std::vector<SamplePiece> pieces;
  std::vector<std::vector<sampler::PartitionRelationSample>> samples;
  std::vector<size_t> new_pieces;
  for (size_t p = 0; p < hop.pieces.size(); ++p) {
    if (hop.halves[p].empty()) {
      pieces.push_back(std::move(hop.pieces[p]));
      samples.push_back(std::move(hop.samples[p]));
      continue;
    }
    for (SamplePiece& half : hop.halves[p]) {
      new_pieces.push_back(pieces.size());
      pieces.push_back(std::move(half));
      samples.emplace_back();
    }
  }
  hop.pieces = std::move(pieces);
  hop.samples = std::move(samples);
  return new_pieces;
}

// Requests the pieces with these indices (ascending), then the halves of the pieces whose responses were too large,
// until all responses have arrived.
void RequestPieces(const std::shared_ptr<PendingHop>& hop, std::vector<size_t> indices, Deadline deadline,
                   sampler::Done<sampler::PartitionHopSample> done) {
  hop->halves.assign(hop->pieces.size(), {});
  const auto requested = std::make_shared<const std::vector<size_t>>(std::move(indices));
  PiecewiseRequest pieces_request{.method = kSampleNeighbors, .num_pieces = requested->size()};
  pieces_request.encode_request = [hop, requested](size_t i) {
    return messages::EncodeHopRequest(hop->query, hop->pieces[(*requested)[i]], hop->identity);
  };
  pieces_request.handle_reply = [hop, requested](size_t i, const grpc::ByteBuffer& reply) -> Status {
    const size_t piece = (*requested)[i];
    ASSIGN_OR_RETURN(hop->samples[piece], messages::DecodeHopReply(reply, hop->query, hop->pieces[piece], *hop->book));
    return Status();
  };
  pieces_request.handle_error = [hop, requested](size_t i, const Status& error) -> Status {
    if (error.code() != StatusCode::kResourceExhausted) return error;
    const size_t piece = (*requested)[i];
    hop->halves[piece] = SplitInHalves(hop->query, hop->pieces[piece]);
    return hop->halves[piece].empty() ? error : Status();
  };
  RequestInPieces(hop->callee, std::move(pieces_request), hop->calls_in_flight, deadline,
                  [hop, deadline, done = std::move(done)](const Status& status) {
                    if (!status.ok()) return done(status);
                    std::vector<size_t> new_pieces = ReplaceByHalves(*hop);
                    if (!new_pieces.empty()) return RequestPieces(hop, std::move(new_pieces), deadline, done);
                    done(Assemble(hop->query, hop->pieces, std::move(hop->samples)));
                  });
}

tensor::v1::RequestIdentity MakeIdentity(const RemotePartitionOptions& options) {
  tensor::v1::RequestIdentity identity;
  identity.set_partition_key(options.partition_key);
  identity.set_partition(options.partition.value);
  identity.set_incarnation(options.incarnation->current());
  identity.set_job(options.job);
  return identity;
}

}  // namespace

RemotePartition::RemotePartition(std::shared_ptr<rpc::Peer> peer, graph::PartitionBook book,
                                 const RemotePartitionOptions& options)
    : peer_(std::move(peer)),
      replicas_(options.replicas != nullptr ? rpc::Callee(options.replicas) : rpc::Callee(peer_)),
      book_(std::make_shared<const graph::PartitionBook>(std::move(book))),
      options_(options),
      tensors_(peer_, changes_,
               {.identity = [options] { return MakeIdentity(options); },
                .bytes_per_call = options.reply_bytes_per_call,
                .calls_in_flight = options.calls_in_flight}),
      embeddings_(peer_, {.identity = [options] { return MakeIdentity(options); },
                          .bytes_per_call = options.reply_bytes_per_call,
                          .calls_in_flight = options.calls_in_flight}),
      functions_(peer_, changes_, [options] { return MakeIdentity(options); }) {}

tensor::v1::RequestIdentity RemotePartition::Identity() const { return MakeIdentity(options_); }

void RemotePartition::SampleInEdges(sampler::PartitionHopQuery query, Deadline deadline,
                                    sampler::Done<sampler::PartitionHopSample> done) {
  if (Status valid = sampler::CheckDrawRule(query); !valid.ok()) return done(std::move(valid));
  const auto hop = std::make_shared<PendingHop>(PendingHop{.callee = replicas_,
                                                           .calls_in_flight = options_.calls_in_flight,
                                                           .book = book_,
                                                           .identity = Identity(),
                                                           .query = std::move(query)});
  hop->pieces = SplitIntoPieces(hop->query, options_.reply_bytes_per_call);
  hop->samples.resize(hop->pieces.size());
  std::vector<size_t> all(hop->pieces.size());
  std::iota(all.begin(), all.end(), size_t{0});
  RequestPieces(hop, std::move(all), deadline, std::move(done));
}

void RemotePartition::GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes,
                                 sampler::RowSink sink, Deadline deadline, sampler::DoneStatus done) {
  if (sink.positions.size() != nodes.size()) {
    return done(InvalidArgument(std::to_string(sink.positions.size()) + " positions for " +
                                std::to_string(nodes.size()) + " rows, expected equal numbers"));
  }
  const size_t rows_per_call = std::max<size_t>(1, options_.reply_bytes_per_call / std::max<size_t>(1, sink.row_bytes));
  graph::v1::GatherRowsRequest header;
  *header.mutable_identity() = Identity();
  header.set_node_type(type.value);
  header.set_column(column);
  header.set_row_bytes(sink.row_bytes);

  const auto length_of = [nodes, rows_per_call](size_t piece) {
    return std::min(rows_per_call, nodes.size() - piece * rows_per_call);
  };
  PiecewiseRequest pieces_request{.method = kGatherRows};
  // At least one call: a query for no rows checks that the column exists.
  pieces_request.num_pieces = std::max<size_t>(1, (nodes.size() + rows_per_call - 1) / rows_per_call);
  pieces_request.encode_request = [header, nodes, rows_per_call, length_of](size_t piece) {
    const Tensor ids = messages::LocalIdTensor(nodes.subspan(piece * rows_per_call, length_of(piece)));
    return rpc::EncodeFrame(header, std::span(&ids, 1));
  };
  pieces_request.handle_reply = [sink, rows_per_call, length_of](size_t piece, const grpc::ByteBuffer& reply) {
    return PlaceRows<graph::v1::GatherRowsResponse>(reply, sink,
                                                    sink.positions.subspan(piece * rows_per_call, length_of(piece)));
  };
  RequestInPieces(replicas_, std::move(pieces_request), options_.calls_in_flight, deadline, std::move(done));
}

void RemotePartition::SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline,
                                  sampler::Done<sampler::PartitionSeeds> done) {
  if (Status valid = sampler::CheckSeedTypes(query, book_->schema()); !valid.ok()) return done(std::move(valid));
  rpc::CallWithRetries(replicas_, kSeedsOfStep, messages::EncodeSeedsRequest(query, Identity()), deadline,
                       [done = std::move(done), query, book = book_](const Result<grpc::ByteBuffer>& reply) {
                         if (!reply.ok()) return done(reply.status());
                         done(messages::DecodeSeedsReply(*reply, query, *book));
                       });
}

void RemotePartition::ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes, Deadline deadline,
                                  sampler::Done<Tensor> done) {
  if (type.value >= book_->schema().num_node_types()) {
    return done(InvalidArgument("node type " + std::to_string(type.value) + " does not exist"));
  }
  graph::v1::LookUpRequest request;
  *request.mutable_identity() = Identity();
  request.set_node_type(type.value);
  const Tensor ids = messages::WideIdTensor(nodes);
  RequestTensor<graph::v1::LookUpResponse>(
      replicas_, kLookUp, rpc::EncodeFrame(std::move(request), std::span(&ids, 1)), deadline, std::move(done),
      [count = nodes.size(), limit = book_->num_nodes(type)](Tensor globals) -> Result<Tensor> {
        RETURN_IF_ERROR(messages::CheckIds(globals, count, limit, "global ids"));
        return globals;
      });
}

void RemotePartition::InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes, Deadline deadline,
                                sampler::Done<Tensor> done) {
  graph::v1::InDegreesRequest request;
  *request.mutable_identity() = Identity();
  request.set_edge_type(type.value);
  const Tensor ids = messages::LocalIdTensor(nodes);
  RequestTensor<graph::v1::InDegreesResponse>(
      replicas_, kInDegrees, rpc::EncodeFrame(std::move(request), std::span(&ids, 1)), deadline, std::move(done),
      [count = nodes.size()](Tensor degrees) -> Result<Tensor> {
        if (degrees.dtype() != DType::kU32 || static_cast<size_t>(degrees.num_elements()) != count) {
          return InvalidArgument("the server's in-degrees are " + degrees.ToString() + ", expected U32 [" +
                                 std::to_string(count) + "]");
        }
        return degrees;
      });
}

void RemotePartition::FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline,
                                sampler::Done<Tensor> done) {
  if (type.value >= book_->schema().num_edge_types()) {
    return done(InvalidArgument("edge type " + std::to_string(type.value) + " does not exist"));
  }
  graph::v1::FindEdgesRequest request;
  *request.mutable_identity() = Identity();
  request.set_edge_type(type.value);
  const Tensor ids = messages::WideIdTensor(edges);
  const graph::GraphSchema& schema = book_->schema();
  RequestTensor<graph::v1::FindEdgesResponse>(
      replicas_, kFindEdges, rpc::EncodeFrame(std::move(request), std::span(&ids, 1)), deadline, std::move(done),
      [count = edges.size(), num_sources = book_->num_nodes(schema.SourceOf(type)),
       num_destinations = book_->num_nodes(schema.DestinationOf(type))](Tensor ends) {
        return CheckEndpoints(std::move(ends), count, num_sources, num_destinations);
      });
}

void RemotePartition::GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                                     Deadline deadline, sampler::Done<Tensor> done) {
  EdgeRowsQuery query{.callee = replicas_,
                      .header = {},
                      .edges = edges,
                      .reply_bytes_per_call = options_.reply_bytes_per_call,
                      .calls_in_flight = options_.calls_in_flight};
  *query.header.mutable_identity() = Identity();
  query.header.set_edge_type(type.value);
  query.header.set_column(column);
  RequestEdgeRows(std::move(query), deadline, std::move(done));
}

void RemotePartition::CallFunction(const std::string& function, const Tensor& request, sampler::TensorEffect effect,
                                   Deadline deadline, sampler::Done<Tensor> done) {
  functions_.Call(function, request, effect, deadline, std::move(done));
}

}  // namespace espalier::client
