"""Documents about the images and the chart: SPDX inventories, SLSA provenance and signatures (images/attest)."""
