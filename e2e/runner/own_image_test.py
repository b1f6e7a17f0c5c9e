"""The scenario `own_program` finds its Dockerfile on the page; without a cluster."""

import unittest

from runner import own_image


class OwnImageTest(unittest.TestCase):
    def test_the_last_stage_of_the_page_adds_the_program_to_the_trainer_image(self):
        first, *lines = own_image.last_stage().splitlines()
        self.assertEqual(first, f"FROM {own_image.TRAINER_IMAGE}")
        self.assertEqual(lines, [f"COPY --from=build /{own_image.COMPILED}/{own_image.PROGRAM} "
                                 f"/usr/bin/{own_image.PROGRAM}"])


if __name__ == "__main__":
    unittest.main()
