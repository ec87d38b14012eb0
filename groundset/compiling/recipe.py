"""A whole recipe opened for DSPy's optimizers: its program, attempts on labelled chunks, and where its states go."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from groundset.compiling.labels import label_files
from groundset.data_files import data_path
from groundset.engine.compiled import SHIPPED, Users, load_compiled
from groundset.files import write_text
from groundset.models.pull import ensure_available
from groundset.models.specs import LocalSpec, parse_spec
from groundset.options import DEFAULT_EMBEDDER, DEFAULT_PARSER
from groundset.retrieval.embedder import load_embedder
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.runtime.lms import LanguageModel, open_lm
from groundset.runtime.parser import load_parser
from groundset.store.calls import CallFile
from optimizers.attempts import attempt_examples, labelled_chunk
from optimizers.labels import ChunkLabel, Split, hashes_of, read_labels
from optimizers.report import new_state, state_text
from optimizers.whole_recipe import WholeRecipe
from programs.critics import open_critics
from programs.critics.remembering import CachingEncoder
from programs.critics.states import folder_of
from programs.demos import read_demos
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.recipes import RECIPES
from programs.tools import Tools


@dataclass(frozen=True)
class OpenedRecipe:
    """A recipe with everything needed to compile it.

    Attributes:
        program: what optimizers take.
        examples: attempts on labelled chunks, by split.
        model: what it is compiled for.
        record: what states say of how they came about.
    """

    program: WholeRecipe
    examples: dict[Split, list[dspy.Example]]
    model: LanguageModel
    record: dict[str, Any]

    def write(self, compiled: WholeRecipe, out: Path) -> list[Path]:
        """Write the states that a compile changed, for ``--compiled``, and return their files.

        Raises:
            InputError: the folder cannot be written.
        """
        files = []
        for step, predictor in compiled.states().items():
            state = new_state(
                step,
                model=self.model.name,
                model_sha256=self.model.sha256,
                optimizer="whole-recipe",
                predictor=predictor,
                record=self.record,
            )
            files.append(out / folder_of(self.model.name) / f"{step}.json")
            write_text(files[-1], state_text(state))
        return files


@contextmanager
def open_recipe(
    recipe: str,
    lm: str,
    *,
    journal: Path,
    embedder: str = DEFAULT_EMBEDDER,
    labels: Sequence[Path] = (),
    **options: Any,
) -> Iterator[OpenedRecipe]:
    """Open a recipe with the shipped critics, the demos by hand and a search over all labelled chunks.

    Inside, DSPy has the language model. A call that fails ends what is going on, except in those optimizers that pass
    over failures.

    ``journal`` is the file of finished calls, so that the same compile pays for none twice. ``labels`` are label files
    of the user's own, and ``options`` those of the recipe.

    Raises:
        InputError: there is no such recipe, or the shipped heads have another embedder.
        OptimizerError: a label file is wrong.
        GroundsetError: a model cannot be opened.
    """
    if recipe not in RECIPES:
        raise InputError(f"there is no recipe {recipe}; there are {', '.join(RECIPES)}")
    files = label_files(labels, ChunkLabel)
    rows = read_labels(ChunkLabel, files)
    loaded, spec = load_embedder(embedder), ensure_available(parse_spec(lm))
    named = (spec.name, spec.sha256) if isinstance(spec, LocalSpec) else ()
    # Writers are what is compiled: they start from the demos by hand.
    compiled = load_compiled(SHIPPED, Users("head", loaded.sha256, *named)).deciding()
    if not compiled.heads:
        raise InputError(f"--embedder {embedder}: the shipped critics have another embedder")
    languages = Languages(LANGUAGES, load_parser(DEFAULT_PARSER))
    chunks = [labelled_chunk(row) for row in rows]
    vectors = loaded.encode_corpus([chunk.text for chunk in chunks])
    known = {chunk.text: vector for chunk, vector in zip(chunks, vectors, strict=True)}
    encoder = CachingEncoder(loaded, known)
    store = open_store("faiss", [chunk.chunk_id for chunk in chunks], vectors)
    index = ChunkIndex(chunks, store, encoder.encode)
    critics = open_critics("head", languages=languages, embedder=encoder, heads=compiled.heads)
    calls = CallFile(journal)
    with (
        open_lm(spec, journal=calls, adapters=compiled.files) as model,
        calls,
        dspy.context(lm=model.lm, max_history_size=0, max_errors=1),
    ):
        tools = Tools(
            critics={**critics, **compiled.taught(model.lm)},
            retriever=index,
            languages=languages,
            demos=read_demos(data_path("demos")),
            states=compiled.predictors,
        )
        yield OpenedRecipe(
            program=WholeRecipe(recipe, tools, model.adapter, **options),
            examples=attempt_examples(recipe, rows, languages, index.near, **options),
            model=model,
            record={"recipe": recipe, "options": options, "labels": hashes_of(files)},
        )
