// What a plain YAML scalar means, and to whom. YAML 1.1 (kubectl, PyYAML) and 1.2 read some of them differently:
// `no` is false to one and text to the other. Numbers are accepted exactly as JSON writes them, booleans as true
// and false, and plain text only where every reader takes it for text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier::job {

std::string Lower(std::string_view text);             // ASCII letters
bool ReadsAsNull(std::string_view plain);             // "", ~, null, Null, NULL
bool IsJsonInteger(std::string_view text);            // -?(0|[1-9][0-9]*)
bool IsJsonNumber(std::string_view text);             // with fraction and exponent
std::optional<bool> ReadBool(std::string_view text);  // true/false, in the three cases all readers share

// Why some reader takes plain text for something else: "a boolean", "a number", "a date"; nullptr: text to all.
const char* OtherReadingOfText(std::string_view plain);

}  // namespace espalier::job
