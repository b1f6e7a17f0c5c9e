// What sources call the things that Espalier numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace espalier::format {

// Empty where a source has numbers itself. Names hold no line ends, relations no tabs either.
struct SourceNames {
  std::map<std::string, std::vector<std::string>> nodes;  // by node type; names[original id]
  std::map<std::string, std::string> relations;           // by "source:relation:destination"; as the source writes it

  bool empty() const { return nodes.empty() && relations.empty(); }
};

}  // namespace espalier::format
