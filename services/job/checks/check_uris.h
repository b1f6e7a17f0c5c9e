// Checks of URIs, endpoints and names of Kubernetes objects in a document.
#pragma once

#include <cstddef>
#include <string>

namespace espalier::job {

// Returns the error message for the location of a graph, model or result, or "" if it is valid: a path, a "file:" URI
// or "s3://bucket/prefix" (also "s3a://" and "S3://") with a prefix of at most `max_prefix` bytes.
std::string UriProblem(const std::string& text, size_t max_prefix);

// Returns the error message for the endpoint of an S3 service, or "" if it is valid: "http(s)://host[:port][/path]".
// The message never repeats `text`, which could contain a password.
std::string EndpointProblem(const std::string& text);

// Returns the error message for the name of a Kubernetes object, or "" if it is valid: lower-case letters, digits, '-'
// and '.', at most 253 bytes, with a letter or digit at the beginning and the end.
std::string ObjectNameProblem(const std::string& text);

}  // namespace espalier::job
