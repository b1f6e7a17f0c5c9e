// Helpers for convolutions with separate weights for each relation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/graph/schema.h"
#include "services/sampler/batches/mini_batch.h"

namespace espalier::trainer {

// The destinations that have in-edges of one relation, and their segments. In a graph with many relations, most
// destinations have in-edges of only a few relations.
struct OccupiedRows {
  std::vector<uint32_t> rows;    // ascending row numbers in the matrix that the layer writes (WrittenRows)
  std::vector<uint32_t> indptr;  // [rows + 1]
};
// Returns the occupied rows of a block. first_row: the first row of the block's destination type in that matrix
// (WrittenRows::first).
OccupiedRows FindOccupiedRows(const sampler::Block& block, int64_t first_row);

// Returns a module name for a relation, e.g. "relation_author:writes:paper_0". It is unique and has no dots, which
// separate the names of nested modules.
std::string RelationModuleName(const graph::GraphSchema& schema, EdgeTypeId relation);

}  // namespace espalier::trainer
