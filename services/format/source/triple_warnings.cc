#include "services/format/source/triple_warnings.h"

#include <algorithm>
#include <span>

#include "services/base/ascii.h"

namespace espalier::format {
namespace {

constexpr size_t kShownBytes = 60;  // messages show at most this many bytes of a name

std::string Shown(std::string_view name) { return "'" + std::string(name.substr(0, kShownBytes)) + "'"; }

// Returns true if `words` contains `field`, compared in lower case without separators and suffixes.
bool IsOneOf(std::string_view field, std::span<const std::string_view> words) {
  std::string name = ToLowerAscii(std::string(field));
  std::erase_if(name, [](char c) { return c == ' ' || c == '_' || c == '-' || c == '#' || c == ':' || c == '"'; });
  // Accept suffixes: "head_id", "relation_name", ":START_ID".
  for (const std::string_view ending : {"id", "name", "label"}) {
    if (name.size() > ending.size() + 1 && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return std::find(words.begin(), words.end(), name) != words.end();
}

}  // namespace

bool LooksLikeHeader(const std::array<std::string_view, 3>& fields) {
  static constexpr std::string_view kHeads[] = {"head",  "h",    "subject", "subj", "s",     "source", "src",
                                                "start", "from", "entity1", "e1",   "heads", "node1"};
  static constexpr std::string_view kRelations[] = {"relation", "rel",  "r",    "predicate", "pred",     "p",
                                                    "edge",     "type", "link", "relations", "property", "edgetype"};
  static constexpr std::string_view kTails[] = {"tail", "t",  "object",  "obj", "o",     "target", "dst",        "dest",
                                                "end",  "to", "entity2", "e2",  "tails", "node2",  "destination"};
  return IsOneOf(fields[0], kHeads) && IsOneOf(fields[1], kRelations) && IsOneOf(fields[2], kTails);
}

void TripleWarnings::AddHeader(const std::string& where, const std::array<std::string_view, 3>& fields) {
  if (num_headers_++ > 0) return;
  first_header_ = where + ": " + Shown(fields[0]) + ", " + Shown(fields[1]) + ", " + Shown(fields[2]);
}

void TripleWarnings::AddName(const std::string& where, std::string_view name) {
  if (num_names_++ == 0) first_name_ = Shown(name) + " in " + where;
}

std::vector<std::string> TripleWarnings::Take() && {
  std::vector<std::string> warnings;
  if (num_headers_ > 0) {
    warnings.push_back(std::to_string(num_headers_) + (num_headers_ == 1 ? " file begins" : " files begin") +
                       " with a line that looks like a header but was read as a triple (" + first_header_ +
                       "): delete the line if it names the columns");
  }
  if (num_names_ > 0) {
    warnings.push_back(std::to_string(num_names_) + (num_names_ == 1 ? " name begins or ends" : " names begin or end") +
                       " with a space, which is part of the name (the first is " + first_name_ +
                       "): remove the space if the same name also occurs without it");
  }
  return warnings;
}

}  // namespace espalier::format
