"""Review runs: a local web page to sign, refuse and correct samples, and review statistics."""
