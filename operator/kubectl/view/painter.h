// A few lines that are painted over themselves on a terminal.
#pragma once

#include <string>
#include <vector>

#include "operator/kubectl/text/output.h"

namespace espalier::ctl::view {

// Owned by one thread. What was painted last stays.
class Painter {
 public:
  explicit Painter(const text::Output& out) : out_(out) {}

  // In place of what was painted before. Lines are cut to the terminal's width: one that wraps could not be painted
  // over. They are Printable.
  Status Paint(const std::vector<std::string>& lines);

 private:
  const text::Output& out_;  // outlives this
  size_t num_painted_ = 0;
};

}  // namespace espalier::ctl::view
