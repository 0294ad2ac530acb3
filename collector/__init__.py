"""How does this keep running? Everything that can fail because of the weather: network, disk, clock, load."""
