// A server plugin with an initializer of tensors, which runs on the servers that own the rows (docs/server-plugins.md).
// [example]
#include <charconv>
#include <cmath>

#include "espalier/plugin/plugin.h"

using namespace espalier::plugin;

// Arguments: "LONGEST". Fills each row with the positional encoding of its node's original id (Vaswani et al. 2017):
// elements 2 k and 2 k + 1 are the sine and the cosine of id / LONGEST^(2 k / width). Wavelengths range from 2 pi to
// 2 pi LONGEST^(2 k / width) for the last k, which is almost 2 pi LONGEST in wide rows.
void Sinusoids(const Context& context, const Rows& rows) {
  const std::string_view text = rows.arguments();
  double longest = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), longest);
  if (error != std::errc() || end != text.data() + text.size() || !(longest > 1)) {
    throw BadRequest("expected a number above 1, found '" + std::string(text) + "'");
  }
  const std::span<float> values = rows.values<float>();  // throws if the tensor is not F32
  const size_t width = rows.row_size();
  for (size_t row = 0; row < rows.original_ids().size(); ++row) {
    context.ThrowIfCallerGone();
    const auto id = static_cast<double>(rows.original_ids()[row]);
    for (size_t element = 0; element < width; ++element) {
      const double exponent = static_cast<double>(element / 2 * 2) / static_cast<double>(width);
      const double angle = id / std::pow(longest, exponent);
      values[row * width + element] = static_cast<float>(element % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
}

ESPALIER_PLUGIN("1.0", Initializer<Sinusoids>("sinusoids"));
// [example]
