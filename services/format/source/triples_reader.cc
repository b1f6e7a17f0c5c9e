#include "services/format/source/triples_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "services/format/source/line_reader.h"
#include "services/format/source/source_name.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;

// Names in the order of their first appearance.
class NameTable {
 public:
  uint32_t IdOf(std::string_view name) {
    const auto [at, added] = ids_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size()));
    if (added) names_.push_back(at->first);
    return at->second;
  }
  size_t size() const { return names_.size(); }
  std::vector<std::string> TakeNames() && { return std::move(names_); }

 private:
  absl::flat_hash_map<std::string, uint32_t> ids_;
  std::vector<std::string> names_;
};

struct Triple {
  uint32_t head, relation, tail;
  uint8_t part;
};

struct Triples {
  NameTable entities, relations;
  std::vector<Triple> triples;
};

Status ReadFile(const std::string& path, const TripleOptions& options, uint8_t part, Triples& all) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, reader.Next());
    if (!line) return {};
    if (line->empty()) continue;
    const size_t first = line->find('\t');
    const size_t second = first == std::string_view::npos ? first : line->find('\t', first + 1);
    if (second == std::string_view::npos || line->find('\t', second + 1) != std::string_view::npos) {
      return InvalidArgument(reader.Where() + ": expected three fields with tabs between them");
    }
    std::array<std::string_view, 3> fields = {line->substr(0, first), line->substr(first + 1, second - first - 1),
                                              line->substr(second + 1)};
    if (fields[0].empty() || fields[1].empty() || fields[2].empty()) {
      return InvalidArgument(reader.Where() + ": a field is empty");
    }
    if (options.columns == TripleColumns::kRelationHeadTail) std::swap(fields[0], fields[1]);
    const uint32_t head = all.entities.IdOf(fields[0]);
    const uint32_t relation = all.relations.IdOf(fields[1]);
    all.triples.push_back({head, relation, all.entities.IdOf(fields[2]), part});
    if (all.entities.size() >= std::numeric_limits<uint32_t>::max()) {
      return InvalidArgument(reader.Where() + ": more than 2^32 - 1 entities");
    }
  }
}

Result<Triples> ReadFiles(const std::string& path, const TripleOptions& options) {
  Triples all;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    RETURN_IF_ERROR(ReadFile(path, options, 0, all));
    return all;
  }
  constexpr std::array<const char*, 3> kParts = {"train.txt", "valid.txt", "test.txt"};
  for (uint8_t part = 0; part < kParts.size(); ++part) {
    const std::optional<std::string> file = FindPlainOrGzip(path, kParts[part]);
    if (!file && part == 0) return NotFound(path + " has no train.txt (nor train.txt.gz)");
    if (file) RETURN_IF_ERROR(ReadFile(*file, options, part, all));
  }
  return all;
}

// Sorts names; new_ids[old id] = position.
std::vector<uint32_t> SortNames(std::vector<std::string>& names) {
  std::vector<uint32_t> order(names.size()), new_ids(names.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return names[a] < names[b]; });
  std::vector<std::string> sorted;
  for (uint32_t i = 0; i < order.size(); ++i) {
    new_ids[order[i]] = i;
    sorted.push_back(std::move(names[order[i]]));
  }
  names = std::move(sorted);
  return new_ids;
}

// Names as the schema wants them, distinct: "/people/person" becomes "_people_person".
std::vector<std::string> RelationTypeNames(const std::vector<std::string>& relations) {
  constexpr size_t kLongest = 116;  // leaves room for a number
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const std::string& relation : relations) {
    std::string name = relation.substr(0, kLongest);
    for (size_t i = 0; i < name.size(); ++i) {
      const char c = name[i];
      const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (!word && (i == 0 || (c != '.' && c != '-'))) name[i] = '_';
    }
    std::string distinct = name;
    for (int number = 2; !taken.insert(distinct).second; ++number) distinct = name + "-" + std::to_string(number);
    names.push_back(std::move(distinct));
  }
  return names;
}

struct Ends {
  std::vector<uint32_t> heads, tails;
  std::vector<uint8_t> parts;
};

graph::EdgeSet EdgesOf(Ends ends) {
  graph::EdgeSet edges{.sources = Tensor::FromVector(std::move(ends.heads)),
                       .destinations = Tensor::FromVector(std::move(ends.tails))};
  edges.columns[kTripleSplitColumn] = Tensor::FromVector(std::move(ends.parts));
  return edges;
}

graph::EdgeSplit SplitOf(const Ends& ends) {
  graph::EdgeSplit split;
  graph::EdgePairs* const parts[] = {&split.train, &split.validation, &split.test};
  for (size_t i = 0; i < ends.parts.size(); ++i) {
    parts[ends.parts[i]]->sources.push_back(ends.heads[i]);
    parts[ends.parts[i]]->destinations.push_back(ends.tails[i]);
  }
  return split;
}

}  // namespace

Result<TripleGraph> ReadTriples(const std::string& path, const TripleOptions& options) {
  ASSIGN_OR_RETURN(Triples all, ReadFiles(path, options));
  TripleGraph result;
  result.entity_names = std::move(all.entities).TakeNames();
  std::vector<std::string> relations = std::move(all.relations).TakeNames();
  // Edge types are sorted by name, so relations' type names are made from sorted relations whatever the option.
  const std::vector<uint32_t> relation_ids = SortNames(relations);
  if (options.names == NameOrder::kSorted) {
    const std::vector<uint32_t> entity_ids = SortNames(result.entity_names);
    for (Triple& triple : all.triples) triple.head = entity_ids[triple.head], triple.tail = entity_ids[triple.tail];
  }
  const std::vector<std::string> type_names = RelationTypeNames(relations);
  std::vector<graph::CanonicalEdgeType> edge_types;
  for (const std::string& name : type_names) edge_types.push_back({"entity", name, "entity"});

  graph::SourceGraph& graph = result.graph;
  graph.name = SourceName(path);
  ASSIGN_OR_RETURN(graph.schema, graph::GraphSchema::Make({"entity"}, std::move(edge_types)).While("reading " + path));
  graph.nodes.push_back({.count = result.entity_names.size()});
  std::vector<uint16_t> type_of_relation;  // by sorted relation
  result.relation_names.resize(relations.size());
  for (size_t r = 0; r < relations.size(); ++r) {
    ASSIGN_OR_RETURN(const EdgeTypeId type, graph.schema.FindEdgeType("entity:" + type_names[r] + ":entity"));
    type_of_relation.push_back(type.value);
    result.relation_names[type.value] = relations[r];
  }
  std::vector<Ends> by_type(relations.size());
  for (const Triple& triple : all.triples) {
    Ends& ends = by_type[type_of_relation[relation_ids[triple.relation]]];
    ends.heads.push_back(triple.head);
    ends.tails.push_back(triple.tail);
    ends.parts.push_back(triple.part);
  }
  std::error_code error;
  const bool has_parts = fs::is_directory(path, error);
  for (uint16_t type = 0; type < by_type.size(); ++type) {
    if (has_parts) graph.edge_splits[kTripleSplit][type] = SplitOf(by_type[type]);
    graph.edges.push_back(EdgesOf(std::move(by_type[type])));
  }
  return result;
}

}  // namespace espalier::format
