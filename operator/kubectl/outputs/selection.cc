#include "operator/kubectl/outputs/selection.h"

#include <algorithm>
#include <map>

namespace espalier::ctl::outputs {
namespace {

constexpr char kAll[] = "all";

// Maps each choice to the kinds of format::OutputFile that it selects.
const std::map<std::string, std::set<std::string>>& KindsByChoice() {
  static const auto* const kinds = new std::map<std::string, std::set<std::string>>{
      {"model", {"model"}},
      {"embeddings", {"embeddings"}},
      {"predictions", {"predictions", "logits"}},
      {"metrics", {"metrics", "events"}},
  };
  return *kinds;
}

}  // namespace

const std::vector<std::string>& Choices() {
  static const auto* const choices = [] {
    auto* names = new std::vector<std::string>;
    for (const auto& [choice, kinds] : KindsByChoice()) names->push_back(choice);
    names->push_back(kAll);
    return names;
  }();
  return *choices;
}

Result<std::vector<format::OutputFile>> SelectFiles(const format::OutputsManifest& manifest,
                                                    const std::set<std::string>& choices) {
  if (choices.contains(kAll)) return manifest.files;
  std::set<std::string> kinds;
  for (const std::string& choice : choices) {
    const auto found = KindsByChoice().find(choice);
    if (found == KindsByChoice().end()) return InvalidArgument("'" + choice + "' is not an output of a run");
    kinds.insert(found->second.begin(), found->second.end());
  }
  std::vector<format::OutputFile> files;
  std::copy_if(manifest.files.begin(), manifest.files.end(), std::back_inserter(files),
               [&](const format::OutputFile& output) { return kinds.contains(output.kind); });
  return files;
}

}  // namespace espalier::ctl::outputs
