"""groundset turns a folder of documents into a RAG evaluation set on a small local language model."""

__version__ = "0.1.0"

__all__ = ["__version__"]
