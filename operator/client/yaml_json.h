// Converts YAML to JSON, for kubeconfig files and the output of exec plugins.
#pragma once

#include <string>

#include "operator/kube/json.h"

namespace espalier::ctl::client {

constexpr size_t kMaxYamlBytes = 4 << 20;

// Parses one document; an empty one is null. Text that kube::ParseJson accepts as a JSON object is parsed as JSON, and
// all other text as YAML. Returns InvalidArgument if this other text is not YAML, is longer than kMaxYamlBytes, has
// explicit tags, duplicate keys or merge keys ("<<"), is deeper than 40 levels, or has more than 50,000 values after
// expanding aliases. Error messages contain the number of the line, and perhaps a key, tag or anchor, but no value of
// the document.
Result<kube::Json> ParseYamlOrJson(const std::string& text);

}  // namespace espalier::ctl::client
