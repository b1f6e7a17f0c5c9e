// How much a YAML (or JSON) document may hold, counted while it is parsed and before anything of it is kept.
#pragma once

#include <string>

namespace espalier::format {

enum class YamlReferences {
  kRefused,  // anchors and aliases, which JSON does not have
  kCounted   // an alias counts as all that it stands for: who walks through the document meets that much
};

// Throws what YAML::Load throws (a YAML::Exception, with its place) for text that is none, for more than 2^22 values
// in its first document, for an alias inside of what it names, and for a scalar that is not UTF-8. A value takes some
// hundred bytes.
void CheckYamlBounds(const std::string& text, YamlReferences references);

}  // namespace espalier::format
