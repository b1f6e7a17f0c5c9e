// Knowledge graphs as lines of "head <tab> relation <tab> tail" (or another order), names being any text.
#pragma once

#include <string>
#include <vector>

#include "services/base/work_meter.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

enum class TripleColumns { kHeadRelationTail, kRelationHeadTail };
// How names become ids: by sorted name, or by first appearance (in train, valid, test; head before tail).
enum class NameOrder { kSorted, kFirstAppearance };

struct TripleOptions {
  TripleColumns columns = TripleColumns::kHeadRelationTail;
  NameOrder names = NameOrder::kSorted;
};

// The edge column that says which file an edge is from: U8, 0 train, 1 valid, 2 test. Edges of one type stand in the
// order of the files and lines.
inline constexpr char kTripleSplitColumn[] = "split";
// The split of every relation's edges by those files, where `path` is a folder.
inline constexpr char kTripleSplit[] = "files";

struct TripleGraph {
  // One node type, "entity"; an edge type entity:<relation>:entity for each relation. Relations that are no names
  // (graph/schema.h) have other characters replaced by '_', and a number where two would then be the same.
  graph::SourceGraph graph;
  std::vector<std::string> entity_names;    // by original node id
  std::vector<std::string> relation_names;  // as written in the files, by EdgeTypeId
  // One sentence each: files whose first line looks like a header, names that begin or end with a blank. Both are read
  // as they are written.
  std::vector<std::string> warnings;
};

// `path` is one file, or a folder with train.txt and, where they exist, valid.txt and test.txt; gzip if the name ends
// in .gz. With a `scratch_folder` arrays and splits are put together in files there that nobody sees, and mapped:
// memory holds the names. `meter`, unless null, counts the files' bytes. InvalidArgument names the line: what is no
// triple, and the 65,536th relation.
Result<TripleGraph> ReadTriples(const std::string& path, const TripleOptions& options,
                                const std::string& scratch_folder = "", WorkMeter* meter = nullptr);

}  // namespace espalier::format
