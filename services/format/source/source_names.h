// Names of nodes and relations in sources that use names instead of ids.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace espalier::format {

// Empty for sources that use ids. Names do not contain line ends; relations do not contain tabs either.
struct SourceNames {
  std::map<std::string, std::vector<std::string>> nodes;  // by node type, then by original id
  std::map<std::string, std::string> relations;           // names in the source, by "source:relation:destination"

  bool empty() const { return nodes.empty() && relations.empty(); }
};

}  // namespace espalier::format
