"""The methods that the paper compares with, each a network that trains, saves and answers as the VSA network does."""
