// What may stand where a document names a place.
#pragma once

#include <cstddef>
#include <string>

namespace espalier::job {

// Returns the error of a place for graphs, models and results: expected is a path, "file:" or "s3://bucket/prefix"
// (also "s3a://", "S3://") with a prefix of at most `max_prefix` bytes. Returns "" for a valid one.
std::string UriProblem(const std::string& text, size_t max_prefix);

// What is wrong with the address of an S3 service: "http(s)://host[:port][/path]"; "" for nothing.
std::string EndpointProblem(const std::string& text);

// What is wrong with the name of a Kubernetes object (a DNS subdomain of at most 253 bytes); "" for nothing.
std::string ObjectNameProblem(const std::string& text);

}  // namespace espalier::job
