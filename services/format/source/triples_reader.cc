// Two passes: the first reads the files, numbers entities and relations by first appearance, and appends each triple as
// four numbers to a log, in memory or in a scratch file. Then names are sorted (those of entities only if
// TripleOptions::names is kSorted), and edge types get their names from the relations. The second pass (SortByType) is
// a counting sort of the log by edge type. With a scratch folder, only the names have to fit into memory.
#include "services/format/source/triples_reader.h"

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/format/source/array_slots.h"
#include "services/format/source/growing_column.h"
#include "services/format/source/line_reader.h"
#include "services/format/source/source_name.h"
#include "services/format/source/triple_warnings.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using graph::SourceGraph;

constexpr size_t kMaxRelations = 65'535;            // each is an edge type
constexpr size_t kNumParts = 3;                     // files of a folder
constexpr size_t kNumbersPerTriple = 4;             // head, relation, tail, part
constexpr size_t kNumbersAtOnce = size_t{1} << 18;  // numbers that are collected before they are appended

struct NumberedName {
  uint32_t id = 0;
  bool is_new = false;
};

// Numbers names in the order of their first appearance.
class NameTable {
 public:
  NumberedName Number(std::string_view name) {
    if (const auto known = ids_.find(name); known != ids_.end()) return {known->second, false};
    const auto id = static_cast<uint32_t>(names_.size());
    ids_.emplace(std::string_view(names_.emplace_back(name)), id);
    return {id, true};
  }
  size_t size() const { return names_.size(); }
  std::vector<std::string> TakeNames() && {
    absl::flat_hash_map<std::string_view, uint32_t>().swap(ids_);
    return {std::make_move_iterator(names_.begin()), std::make_move_iterator(names_.end())};
  }

 private:
  std::deque<std::string> names_;  // a deque, because the keys of ids_ are views of its elements
  absl::flat_hash_map<std::string_view, uint32_t> ids_;
};

// Collects triples as numbers, in the order of files and lines.
class TripleLog {
 public:
  explicit TripleLog(const std::string& scratch_folder) : numbers_(scratch_folder) {}

  Status Add(uint32_t head, uint32_t relation, uint32_t tail, uint8_t part) {
    latest_.insert(latest_.end(), {head, relation, tail, part});
    return latest_.size() < kNumbersAtOnce ? Status() : Flush();
  }

  // Returns the triples as U32 [m, 4]: head, relation, tail, part.
  Result<Tensor> Finish() && {
    RETURN_IF_ERROR(Flush());
    const auto count = static_cast<int64_t>(numbers_.size() / kNumbersPerTriple);
    return std::move(numbers_).Finish({count, static_cast<int64_t>(kNumbersPerTriple)});
  }

 private:
  Status Flush() { return numbers_.Append(std::exchange(latest_, {})); }

  GrowingColumn<uint32_t> numbers_;
  std::vector<uint32_t> latest_;
};

// The content of all files.
struct Triples {
  NameTable entities, relations;
  TripleLog log;
  TripleWarnings warnings;
};

Status ReadFile(const std::string& path, const TripleOptions& options, uint8_t part, WorkMeter* meter, Triples& input) {
  ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path, meter));
  bool is_first = true;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<std::string_view> line, reader.Next());
    if (!line) return {};
    if (line->empty()) continue;
    if (line->find('\0') != std::string_view::npos) {
      return InvalidArgument(reader.Where() + ": a zero byte, expected text in UTF-8 (is the file in UTF-16?)");
    }
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
    if (is_first && LooksLikeHeader(fields)) input.warnings.AddHeader(reader.Where(), fields);
    is_first = false;
    std::array<uint32_t, 3> numbers;
    for (size_t i = 0; i < fields.size(); ++i) {
      const NumberedName name = (i == 1 ? input.relations : input.entities).Number(fields[i]);
      if (name.is_new && HasBlankEnds(fields[i])) input.warnings.AddName(reader.Where(), fields[i]);
      numbers[i] = name.id;
    }
    if (input.relations.size() > kMaxRelations) {
      return InvalidArgument(reader.Where() + ": more than " + std::to_string(kMaxRelations) + " relations: is the " +
                             (options.columns == TripleColumns::kRelationHeadTail ? "first" : "second") +
                             " field really the relation?");
    }
    RETURN_IF_ERROR(input.log.Add(numbers[0], numbers[1], numbers[2], part));
    if (input.entities.size() >= std::numeric_limits<uint32_t>::max()) {
      return InvalidArgument(reader.Where() + ": more than 2^32 - 2 entities");
    }
  }
}

Result<Triples> ReadFiles(const std::string& path, const TripleOptions& options, const std::string& scratch_folder,
                          WorkMeter* meter) {
  Triples input{.entities = {}, .relations = {}, .log = TripleLog(scratch_folder), .warnings = {}};
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    RETURN_IF_ERROR(ReadFile(path, options, 0, meter, input));
    return input;
  }
  constexpr std::array<const char*, kNumParts> kFiles = {"train.txt", "valid.txt", "test.txt"};
  for (uint8_t part = 0; part < kFiles.size(); ++part) {
    const std::optional<std::string> file = FindPlainOrGzip(path, kFiles[part]);
    if (!file && part == 0) return NotFound(path + " has no train.txt (nor train.txt.gz)");
    if (file) RETURN_IF_ERROR(ReadFile(*file, options, part, meter, input));
  }
  return input;
}

// Sorts names. Returns the new position of each name by its old one.
std::vector<uint32_t> SortNames(std::vector<std::string>& names) {
  std::vector<uint32_t> order(names.size()), new_ids(names.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return names[a] < names[b]; });
  std::vector<std::string> sorted;
  sorted.reserve(names.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    new_ids[order[i]] = i;
    sorted.push_back(std::move(names[order[i]]));
  }
  names = std::move(sorted);
  return new_ids;
}

// Returns for each relation a distinct name that is valid in a schema: "/people/person" becomes "_people_person". Many
// names may collide, for example all names with the same number of bytes in a non-Latin script; because of last_number,
// numbering them takes linear time.
std::vector<std::string> MakeTypeNames(const std::vector<std::string>& relations) {
  constexpr size_t kMaxNameBytes = 116;  // leaves room for a number
  std::set<std::string> taken;
  std::map<std::string, uint32_t> last_number;
  std::vector<std::string> names;
  for (const std::string& relation : relations) {
    std::string name = relation.substr(0, kMaxNameBytes);
    for (size_t i = 0; i < name.size(); ++i) {
      const char c = name[i];
      const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (!word && (i == 0 || (c != '.' && c != '-'))) name[i] = '_';
    }
    std::string distinct = name;
    if (!taken.insert(distinct).second) {
      uint32_t& number = last_number.try_emplace(name, 1u).first->second;
      do {
        distinct = name + "-" + std::to_string(++number);
      } while (!taken.insert(distinct).second);
    }
    names.push_back(std::move(distinct));
  }
  return names;
}

// Maps the numbers of the NameTables to ids of nodes and edge types.
struct TripleNumbers {
  std::vector<uint32_t> entity_ids;  // by number of the entity; empty: ids are the numbers
  std::vector<uint16_t> types;       // edge types by number of the relation

  uint32_t ToEntity(uint32_t number) const { return entity_ids.empty() ? number : entity_ids[number]; }
};

// Fills the edges of every edge type, and with `makes_splits` also their splits, in the order of the triples.
Status SortByType(const Tensor& triples, const TripleNumbers& numbers, bool makes_splits,
                  const std::string& scratch_folder, SourceGraph& graph) {
  const size_t num_types = graph.schema.num_edge_types();
  const std::span<const uint32_t> values = triples.values<uint32_t>();
  // num_edges: by edge type; num_pairs: by edge type and part.
  std::vector<uint64_t> num_edges(num_types), num_pairs(num_types * kNumParts);
  for (size_t at = 0; at < values.size(); at += kNumbersPerTriple) {
    const uint16_t type = numbers.types[values[at + 1]];
    ++num_edges[type];
    if (makes_splits) ++num_pairs[type * kNumParts + values[at + 3]];
  }
  ASSIGN_OR_RETURN(const ArraySlots<uint32_t> heads, MakeArraySlots<uint32_t>(num_edges, scratch_folder));
  ASSIGN_OR_RETURN(const ArraySlots<uint32_t> tails, MakeArraySlots<uint32_t>(num_edges, scratch_folder));
  ASSIGN_OR_RETURN(const ArraySlots<uint8_t> parts, MakeArraySlots<uint8_t>(num_edges, scratch_folder));
  ASSIGN_OR_RETURN(const ArraySlots<uint64_t> pair_heads, MakeArraySlots<uint64_t>(num_pairs, scratch_folder));
  ASSIGN_OR_RETURN(const ArraySlots<uint64_t> pair_tails, MakeArraySlots<uint64_t>(num_pairs, scratch_folder));
  std::vector<uint64_t> next_edge(num_edges.size()), next_pair(num_pairs.size());
  for (size_t at = 0; at < values.size(); at += kNumbersPerTriple) {
    const uint16_t type = numbers.types[values[at + 1]];
    const uint32_t head = numbers.ToEntity(values[at]), tail = numbers.ToEntity(values[at + 2]), part = values[at + 3];
    const uint64_t edge = next_edge[type]++;
    heads.to_fill[type][edge] = head;
    tails.to_fill[type][edge] = tail;
    parts.to_fill[type][edge] = static_cast<uint8_t>(part);
    if (!makes_splits) continue;
    const size_t slot = type * kNumParts + part;
    const uint64_t pair = next_pair[slot]++;
    pair_heads.to_fill[slot][pair] = head;
    pair_tails.to_fill[slot][pair] = tail;
  }
  const auto pairs = [&](size_t slot) {
    return graph::EdgePairs{.sources = graph::IdList::Of(pair_heads.arrays[slot]),
                            .destinations = graph::IdList::Of(pair_tails.arrays[slot])};
  };
  for (uint16_t type = 0; type < num_types; ++type) {
    graph::EdgeSet& edges = graph.edges.emplace_back();
    edges.sources = heads.arrays[type];
    edges.destinations = tails.arrays[type];
    edges.columns[kTripleSplitColumn] = parts.arrays[type];
    if (!makes_splits) continue;
    const size_t first = type * kNumParts;
    graph.edge_splits[kTripleSplit][type] = {
        .train = pairs(first), .validation = pairs(first + 1), .test = pairs(first + 2)};
  }
  return {};
}

}  // namespace

Result<TripleGraph> ReadTriples(const std::string& path, const TripleOptions& options,
                                const std::string& scratch_folder, WorkMeter* meter) {
  ASSIGN_OR_RETURN(Triples input, ReadFiles(path, options, scratch_folder, meter));
  ASSIGN_OR_RETURN(const Tensor triples, std::move(input.log).Finish());
  TripleGraph result;
  result.warnings = std::move(input.warnings).Take();
  TripleNumbers numbers;
  result.entity_names = std::move(input.entities).TakeNames();
  if (options.names == NameOrder::kSorted) numbers.entity_ids = SortNames(result.entity_names);
  std::vector<std::string> relations = std::move(input.relations).TakeNames();
  // Relations are always sorted, because a schema sorts its edge types by name; options.names orders only entities.
  const std::vector<uint32_t> sorted_positions = SortNames(relations);
  const std::vector<std::string> type_names = MakeTypeNames(relations);
  std::vector<graph::CanonicalEdgeType> edge_types;
  for (const std::string& name : type_names) edge_types.push_back({"entity", name, "entity"});

  SourceGraph& graph = result.graph;
  graph.name = SourceName(path);
  ASSIGN_OR_RETURN(graph.schema, graph::GraphSchema::Make({"entity"}, std::move(edge_types)).While("reading " + path));
  graph.nodes.push_back({.count = result.entity_names.size()});
  result.relation_names.resize(relations.size());
  absl::flat_hash_map<std::string_view, uint16_t> type_of_name;
  for (uint16_t type = 0; type < graph.schema.num_edge_types(); ++type) {
    type_of_name.emplace(std::string_view(graph.schema.edge_types()[type].relation), type);
  }
  std::vector<uint16_t> type_of_sorted;
  for (size_t r = 0; r < relations.size(); ++r) {
    const uint16_t type = type_of_name.at(std::string_view(type_names[r]));
    type_of_sorted.push_back(type);
    result.relation_names[type] = relations[r];
  }
  for (const uint32_t position : sorted_positions) numbers.types.push_back(type_of_sorted[position]);
  std::error_code error;
  const bool has_parts = fs::is_directory(path, error);
  RETURN_IF_ERROR(SortByType(triples, numbers, has_parts, scratch_folder, graph));
  return result;
}

}  // namespace espalier::format
