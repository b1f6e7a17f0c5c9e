// What people see, word for word, in operator/kubectl/testdata. After a change that is meant:
//
//   ESPALIER_UPDATE_GOLDENS=1 ctest -R ctl_view
//
// and read the difference.
#pragma once

#include <string>

namespace espalier::ctl::view::testing {

void ExpectGolden(const std::string& file, const std::string& text);

}  // namespace espalier::ctl::view::testing
