// Triples of a knowledge graph: what is read is a valid graph, whatever the columns and the order of names.
#include <cstddef>
#include <cstdint>

#include "services/base/check.h"
#include "services/format/source/triples_reader.h"
#include "services/fuzz/input_file.h"
#include "services/graph/source_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::format;  // NOLINT: one function
  const espalier::fuzz::InputFile file(data, size);
  for (const TripleColumns columns : {TripleColumns::kHeadRelationTail, TripleColumns::kRelationHeadTail}) {
    for (const NameOrder order : {NameOrder::kSorted, NameOrder::kFirstAppearance}) {
      const auto read = ReadTriples(file.path(), {.columns = columns, .names = order});
      if (!read.ok()) continue;
      ESPALIER_CHECK(espalier::graph::ValidateSourceGraph(read->graph, /*threads=*/1).ok());
      ESPALIER_CHECK(read->relation_names.size() == read->graph.edges.size());
    }
  }
  return 0;
}
