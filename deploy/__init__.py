"""What operators install beside the program. Not part of the distribution."""
