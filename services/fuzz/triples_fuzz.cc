// Triples of a knowledge graph. Property: every graph that is read is valid, for all column orders and name orders.
#include <cstddef>
#include <cstdint>

#include "services/base/check.h"
#include "services/format/source/source_reader.h"
#include "services/fuzz/input_file.h"
#include "services/graph/source_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::format;  // NOLINT: one function
  const espalier::fuzz::InputFile file(data, size);
  SourceReadOptions options = {.format = SourceFormat::kTriples, .path = file.path()};
  for (const TripleColumns columns : {TripleColumns::kHeadRelationTail, TripleColumns::kRelationHeadTail}) {
    for (const NameOrder order : {NameOrder::kSorted, NameOrder::kFirstAppearance}) {
      options.triples = {.columns = columns, .names = order};
      SourceNames names;
      const auto read = ReadSourceGraph(options, &names);
      if (!read.ok()) {
        ESPALIER_CHECK(!read.status().message().empty());
        continue;
      }
      ESPALIER_CHECK(espalier::graph::ValidateSourceGraph(*read, /*threads=*/1).ok());
    }
  }
  return 0;
}
