// The spelling of an enum in the job document. A specialization Spelling<E> has an array kNames with a pair (value,
// name) for each value of E.
#pragma once

#include <string>

#include "services/base/check.h"

namespace espalier::sampler {

template <class E>
struct Spelling;

template <class E>
concept Spelled = requires {
  Spelling<E>::kNames;
};

// Returns the name of `value`, which must be in kNames.
template <Spelled E>
const char* ToString(E value) {
  for (const auto& [candidate, name] : Spelling<E>::kNames) {
    if (candidate == value) return name;
  }
  ESPALIER_CHECK(false) << "an enum value without a name";
  return "";
}

// Returns false, and leaves *value unchanged, for a name that no value has.
template <Spelled E>
bool ParseName(const std::string& name, E* value) {
  for (const auto& [candidate, candidate_name] : Spelling<E>::kNames) {
    if (name != candidate_name) continue;
    *value = candidate;
    return true;
  }
  return false;
}

}  // namespace espalier::sampler
