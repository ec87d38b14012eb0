"""Changes to sets: what makes a run of one run or several."""
