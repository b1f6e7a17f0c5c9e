// Compares the plugin's output with golden files in operator/kubectl/testdata. After an intended change, run
//
//   ESPALIER_UPDATE_GOLDENS=1 ctest -R ctl_view
//
// and review the diff.
#pragma once

#include <string>

namespace espalier::ctl::view::testing {

void ExpectGolden(const std::string& file, const std::string& text);

}  // namespace espalier::ctl::view::testing
