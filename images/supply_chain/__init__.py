"""Documents about what is shipped: an SPDX inventory, SLSA provenance and signatures of images and chart (images/attest)."""
