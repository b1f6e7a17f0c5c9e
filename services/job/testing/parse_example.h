// What the parser says of the example document, changed in one place.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/job/parse.h"
#include "services/job/testing/example_job.h"

namespace espalier::job {

using Overrides = std::vector<std::pair<std::string, std::string>>;

// The example with one line's text replaced.
inline std::string ExampleWith(const std::string& from, const std::string& to) {
  std::string text = kExampleJob;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Why the document is refused; empty where it is taken.
inline std::string ErrorOf(const std::string& text, const Overrides& overrides = {}) {
  const Result<ParsedJob> job = ParseJob("job.yaml", text, overrides);
  if (job.ok()) return "";
  EXPECT_EQ(job.status().code(), StatusCode::kInvalidArgument);
  return job.status().message();
}

}  // namespace espalier::job
