// Reads knowledge graphs from lines of "head <tab> relation <tab> tail" (or "relation <tab> head <tab> tail"). Names
// are arbitrary text.
#pragma once

#include <string>
#include <vector>

#include "services/base/work_meter.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

enum class TripleColumns { kHeadRelationTail, kRelationHeadTail };
// The order in which entities get ids: sorted by name, or by first appearance (in train, valid, test; head before
// tail).
enum class NameOrder { kSorted, kFirstAppearance };

struct TripleOptions {
  TripleColumns columns = TripleColumns::kHeadRelationTail;
  NameOrder names = NameOrder::kSorted;
};

// The edge column that tells from which file an edge comes: U8, 0 train, 1 valid, 2 test. Edges of one type are in the
// order of files and lines.
inline constexpr char kTripleSplitColumn[] = "split";
// The name of the edge split that every relation has if the source is a folder. Its parts are the edges of train.txt,
// valid.txt and test.txt.
inline constexpr char kTripleSplit[] = "files";

struct TripleGraph {
  // The graph has one node type, "entity", and an edge type entity:<relation>:entity for each relation. Characters that
  // are not allowed in names (graph/schema.h) are replaced by '_', and a number is appended if names collide.
  graph::SourceGraph graph;
  std::vector<std::string> entity_names;    // by original node id
  std::vector<std::string> relation_names;  // as written in the files, by EdgeTypeId
  // One sentence for each kind of warning (triple_warnings.h).
  std::vector<std::string> warnings;
};

// Reads `path`, which is a file or a folder with train.txt and, optionally, valid.txt and test.txt; each file is plain
// or gzip (.gz). With a `scratch_folder`, arrays and splits are built in unnamed, mapped files there, so that memory
// holds the names only. `meter`, unless null, counts the bytes of the files. Returns InvalidArgument, which names the
// line, for a line that is not a triple and for more than 65,535 relations or 2^32 - 2 entities.
Result<TripleGraph> ReadTriples(const std::string& path, const TripleOptions& options,
                                const std::string& scratch_folder = "", WorkMeter* meter = nullptr);

}  // namespace espalier::format
