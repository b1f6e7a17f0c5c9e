// Selects output files of a run by kind.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "services/format/results/outputs_manifest.h"

namespace espalier::ctl::outputs {

// Returns the choices: "model", "embeddings", "predictions" (with the logits), "metrics" (with the TensorBoard events),
// "all".
const std::vector<std::string>& Choices();

// Returns the files of the chosen kinds, or InvalidArgument for an unknown choice.
Result<std::vector<format::OutputFile>> SelectFiles(const format::OutputsManifest& manifest,
                                                    const std::set<std::string>& choices);

}  // namespace espalier::ctl::outputs
