// YAML as JSON, for files that people and programs write: kubeconfigs, and what exec plugins print.
#pragma once

#include <string>

#include "operator/kube/json.h"

namespace espalier::ctl::client {

constexpr size_t kMaxYamlBytes = 4 << 20;

// One document; an empty one is null. InvalidArgument, with the line and without the text, for what is neither; for
// explicit tags, keys that come twice and merge keys ("<<"); for documents deeper than 40 levels or, aliases expanded,
// with more than 50,000 values.
Result<kube::Json> ParseYamlOrJson(const std::string& text);

}  // namespace espalier::ctl::client
