// A hop's question in pieces and its answer put together again. Pure: what a destination draws depends on nothing
// but itself, so where the question is cut does not matter.
#pragma once

#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/graph/partition_book.h"
#include "services/rpc/frame.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// Destinations [begin, end) of one relation of a query.
struct SampleSpan {
  size_t relation = 0;
  size_t begin = 0;
  size_t end = 0;
};
using SamplePiece = std::vector<SampleSpan>;  // what one call asks for

graph::v1::DrawMethod DrawMethodMessageOf(sampler::DrawMethod method);

// Pieces of at most about `reply_bytes` of answer each, in the query's order; at least one.
std::vector<SamplePiece> PiecesOf(const sampler::PartitionHopQuery& query, size_t reply_bytes);
// The two halves of a piece that turned out to be more than the server answers at once, in the query's order. None
// where halves would do no better: it has one destination, or its size does not depend on in-degrees.
std::vector<SamplePiece> HalvesOf(const sampler::PartitionHopQuery& query, const SamplePiece& piece);

// The frame that asks for a piece.
grpc::ByteBuffer EncodePiece(const sampler::PartitionHopQuery& query, const SamplePiece& piece,
                             const tensor::v1::RequestIdentity& identity);
// The spans' samples; InvalidArgument where the reply does not fit the question or names nodes that do not exist.
Result<std::vector<sampler::PartitionRelationSample>> DecodePiece(const grpc::ByteBuffer& reply,
                                                                  const sampler::PartitionHopQuery& query,
                                                                  const SamplePiece& piece,
                                                                  const graph::PartitionBook& book);
// samples[i] belongs to pieces[i].
sampler::PartitionHopSample Assemble(const sampler::PartitionHopQuery& query, const std::vector<SamplePiece>& pieces,
                                     std::vector<std::vector<sampler::PartitionRelationSample>> samples);

}  // namespace espalier::client
