"""What is in deploy/ works with the programs it is for."""
