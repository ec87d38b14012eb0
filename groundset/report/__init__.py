"""What a run is worth, as a page: its figures with what they rest on, and two runs or more side by side."""
