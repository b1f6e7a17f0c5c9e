// Verifies signatures with the libraries with which cosign verifies them. cosign itself also has clients of clouds, registries
// and transparency logs, which take eight times as many packages.
//
//	verify image KEY PAYLOAD SIGNATURE    a Simple Signing payload and its base64 signature; prints the image with its digest
//	verify blob KEY FILE SIGNATURE        a file and its base64 signature
//	verify envelope KEY ENVELOPE          a DSSE envelope
//
// KEY is a public key in PEM. Exit status 1: the signature is not valid, and the reason is on standard error.
package main

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// numFiles has the number of files that each command takes, the key included.
var numFiles = map[string]int{"image": 3, "blob": 3, "envelope": 2}

func main() {
	if len(os.Args) < 2 || numFiles[os.Args[1]] == 0 || len(os.Args) != 2+numFiles[os.Args[1]] {
		fmt.Fprintln(os.Stderr, "usage: verify image|blob KEY FILE SIGNATURE | verify envelope KEY ENVELOPE")
		os.Exit(64)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

func run(command string, paths []string) error {
	files := make([][]byte, len(paths))
	for i, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[i] = content
	}
	key, err := cryptoutils.UnmarshalPEMToPublicKey(files[0])
	if err != nil {
		return err
	}
	verifier, err := signature.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return err
	}
	if command == "envelope" {
		return dsse.WrapVerifier(verifier).VerifySignature(bytes.NewReader(files[1]), nil)
	}
	raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(files[2])))
	if err != nil {
		return err
	}
	if err := verifier.VerifySignature(bytes.NewReader(raw), bytes.NewReader(files[1])); err != nil {
		return err
	}
	if command == "image" {
		var signed payload.Cosign
		if err := json.Unmarshal(files[1], &signed); err != nil {
			return err
		}
		fmt.Println(signed.Image)
	}
	return nil
}
