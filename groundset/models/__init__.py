"""Language models, the embedder's and the parser's weights: named, fetched, verified, opened for
DSPy.
"""
