// Numbers as text for messages, reports and documents. Independent of the locale.
#pragma once

#include <string>

namespace espalier {

// Returns the number rounded to `decimals` digits after the point: FormatFixed(2.5, 2) is "2.50". NaN and infinities
// are "nan", "inf" and "-inf".
std::string FormatFixed(double value, int decimals);

// Returns the number rounded to `digits` significant digits, without trailing zeros. Writes an exponent if it would
// be below -4 or at least `digits`, as "%g" of printf: FormatSignificant(0.52134567, 4) is "0.5213", and
// FormatSignificant(1e9, 4) is "1e+09". With 17 digits, the text parses to the same number.
std::string FormatSignificant(double value, int digits);

}  // namespace espalier
