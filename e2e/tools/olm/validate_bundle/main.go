// Validates an OLM bundle in a folder with the libraries with which `opm alpha bundle validate` and `operator-sdk bundle validate`
// do it. opm itself validates only images that it pulls.
//
//	validate_bundle FOLDER
//
// First operator-registry checks folders, annotations, kinds and the required validators; then come the validators of
// `operator-sdk bundle validate --select-optional suite=operatorframework`, except that of architectures, which pulls images. Each
// finding is a line on standard output that begins with "error: " or "warning: ". Exit status 1: at least one error.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	"github.com/operator-framework/operator-registry/pkg/lib/bundle"
	"github.com/sirupsen/logrus"
)

var suite = validator.Validators{
	validation.BundleValidator,
	validation.OperatorHubV2Validator,
	validation.StandardCategoriesValidator,
	validation.StandardCapabilitiesValidator,
	validation.ObjectValidator,
	validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: validate_bundle FOLDER")
		os.Exit(64)
	}
	// The libraries log what they read.
	logrus.SetOutput(io.Discard)
	if !isValid(os.Args[1]) {
		os.Exit(1)
	}
}

func isValid(folder string) bool {
	registry := bundle.NewImageValidator(nil, logrus.NewEntry(logrus.StandardLogger()))
	valid := report(registry.ValidateBundleFormat(folder))
	valid = report(registry.ValidateBundleContent(filepath.Join(folder, bundle.ManifestsDir))) && valid

	loaded, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return report(err)
	}
	for _, result := range suite.Validate(loaded.ObjectsToValidate()...) {
		for _, warning := range result.Warnings {
			fmt.Println("warning:", warning.Detail)
		}
		for _, one := range result.Errors {
			fmt.Println("error:", one.Detail)
			valid = false
		}
	}
	return valid
}

// report prints the errors of which `err` is made and returns true if there are none.
func report(err error) bool {
	var several bundle.ValidationError
	if errors.As(err, &several) {
		for _, one := range several.Errors {
			fmt.Println("error:", one)
		}
	} else if err != nil {
		fmt.Println("error:", err)
	}
	return err == nil
}
