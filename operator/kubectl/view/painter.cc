#include "operator/kubectl/view/painter.h"

#include "operator/kubectl/text/printable.h"

namespace espalier::ctl::view {

Status Painter::Paint(const std::vector<std::string>& lines) {
  std::string text;
  if (num_painted_ > 0) text += "\033[" + std::to_string(num_painted_) + "A";
  const size_t width = out_.columns();
  for (const std::string& line : lines) text += "\r\033[K" + text::CutToWidth(line, width) + "\n";
  text += "\033[J";  // clears lines of a longer earlier text
  num_painted_ = lines.size();
  return out_.write(text);
}

}  // namespace espalier::ctl::view
