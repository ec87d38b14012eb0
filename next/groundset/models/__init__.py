"""Language models: names, weights, engines."""
