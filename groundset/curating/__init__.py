"""Curating: a part of a run, one with splits, without what nobody wants, judged again, or brought up to date."""
