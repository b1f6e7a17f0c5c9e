// Which of a run's output files are wanted.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "services/format/outputs_manifest.h"

namespace espalier::ctl::outputs {

// What may be asked for: "model", "embeddings", "predictions" (with the logits), "metrics" (with the TensorBoard
// events), "all".
const std::vector<std::string>& Choices();

// The files of the chosen kinds. InvalidArgument for a word that is no choice.
Result<std::vector<format::OutputFile>> Selected(const format::OutputsManifest& manifest,
                                                 const std::set<std::string>& choices);

}  // namespace espalier::ctl::outputs
