#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::ctl::client {

// Returns InvalidArgument if the certificate or the key is not PEM, if the key has a password, or if the two do not
// match. cpprestsdk would use such a pair to connect anonymously, without an error. Error messages do not contain the
// texts.
Status CheckCertificatePair(const std::string& certificate_pem, const std::string& key_pem);

// Returns InvalidArgument if `pem` does not start with a valid certificate.
Status CheckAuthorities(const std::string& pem);

}  // namespace espalier::ctl::client
