#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::ctl::client {

// Checks that a client certificate and its key can be used together. Returns InvalidArgument if one of them is not PEM,
// if the key is encrypted, or if the two do not match: with such a pair, cpprestsdk would connect anonymously, without
// an error. Error messages do not contain the PEM texts.
Status CheckCertificatePair(const std::string& certificate_pem, const std::string& key_pem);

// Returns InvalidArgument if the first certificate in `pem` is missing or invalid.
Status CheckAuthorities(const std::string& pem);

}  // namespace espalier::ctl::client
