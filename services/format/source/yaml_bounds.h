// Limits the number of values of an untrusted YAML or JSON document before it is loaded into memory.
#pragma once

#include <string>

namespace YAML {
struct Mark;
}  // namespace YAML

namespace espalier::format {

enum class YamlReferences {
  kRefused,  // anchors and aliases are errors, because JSON does not have them
  kCounted   // an alias counts as all values of its anchor, because a traversal of the document visits them again
};

// Parses the first document without storing it. Throws YAML::Exception, with the position, for a syntax error, for more
// than 2^22 values (a loaded value takes some hundred bytes), for an alias inside its own anchor, and for a scalar
// that is not UTF-8.
void CheckYamlBounds(const std::string& text, YamlReferences references);

// Returns the line of a position, from 1. An empty document has no position (line -1): returns 1 for it.
int LineNumber(const YAML::Mark& mark);

}  // namespace espalier::format
