// What convolutions with weights of their own for each relation have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/graph/schema.h"
#include "services/sampler/batches/mini_batch.h"

namespace espalier::trainer {

// The destinations that have edges under one relation, and their segments: in a graph of many relations most
// destinations have none under most of them.
struct OccupiedRows {
  std::vector<uint32_t> rows;    // ascending, in the matrix of all written rows
  std::vector<uint32_t> indptr;  // [rows + 1]
};
// first_row: where the rows of the relation's destination type begin in that matrix.
OccupiedRows FindOccupiedRows(const sampler::Block& block, int64_t first_row);

// "relation_author:writes:paper_0": unique, and without the dots that separate module names.
std::string RelationModuleName(const graph::GraphSchema& schema, EdgeTypeId relation);

}  // namespace espalier::trainer
