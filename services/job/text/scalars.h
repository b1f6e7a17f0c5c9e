// Types of plain YAML scalars. YAML 1.1 (kubectl, PyYAML) and YAML 1.2 read some of them differently: `no` is false in
// 1.1 and text in 1.2. A document may have numbers in JSON's syntax, the booleans of ReadBool, and plain text that all
// readers parse as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::job {

std::string Lower(std::string_view text);   // `text` in lower case
bool ReadsAsNull(std::string_view plain);   // "", ~, null, Null, NULL
bool IsJsonInteger(std::string_view text);  // -?(0|[1-9][0-9]*)
bool IsJsonNumber(std::string_view text);   // an integer, optionally with fraction and exponent
// Returns the number of bytes of a Kubernetes quantity: a positive integer, optionally with k, M, G, T (powers of 1000)
// or Ki, Mi, Gi, Ti (powers of 1024). Nullopt for other text and for 2^60 bytes or more.
std::optional<uint64_t> ReadMemorySize(std::string_view text);
std::optional<bool> ReadBool(std::string_view text);  // true, True, TRUE, false, False, FALSE; else nullopt

// Returns the type other than text and null that some YAML reader assigns to the plain scalar: "a boolean", "a number",
// "a date" or "a special key"; nullptr if all readers parse it as text or null.
const char* OtherTypeOfScalar(std::string_view plain);

}  // namespace espalier::job
