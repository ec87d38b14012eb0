"""Stages: small programs that recipes are composed of, with their predictors as visible attributes."""
