// Repaints a few lines in place on a terminal.
#pragma once

#include <string>
#include <vector>

#include "operator/kubectl/text/output.h"

namespace espalier::ctl::view {

// Owned by one thread. The lines painted last stay on the screen.
class Painter {
 public:
  explicit Painter(const text::Output& out) : out_(out) {}

  // Replaces the lines painted before. The lines must be results of text::Printable. They are cut to the terminal's
  // width, because a wrapped line could not be overwritten.
  Status Paint(const std::vector<std::string>& lines);

 private:
  const text::Output& out_;  // must outlive this
  size_t num_painted_ = 0;
};

}  // namespace espalier::ctl::view
