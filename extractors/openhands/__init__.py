"""Parts of the OpenHands harness."""
