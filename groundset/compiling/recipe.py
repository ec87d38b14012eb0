"""Opening a whole recipe for DSPy's optimizers, with attempts on labelled chunks as examples."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from groundset.compiling.labels import label_files
from groundset.compiling.resources import chunk_index, parsed_languages
from groundset.data_files import data_path
from groundset.engine.compiled import SHIPPED, StateConsumers, load_compiled
from groundset.files import write_text
from groundset.models.pull import ensure_available
from groundset.models.specs import LocalSpec, parse_spec
from groundset.options import DEFAULT_EMBEDDER
from groundset.retrieval.embedder import load_embedder
from groundset.runtime.lms import LanguageModel, open_lm
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
from programs.modes import MODES
from programs.recipes import RECIPES
from programs.tools import Tools


@dataclass(frozen=True)
class OpenedRecipe:
    """A recipe with everything needed to compile it.

    Attributes:
        program: the module to optimize.
        examples: attempts on labelled chunks, by split.
        model: the language model to compile for.
        record: the record of its states.
    """

    program: WholeRecipe
    examples: dict[Split, list[dspy.Example]]
    model: LanguageModel
    record: dict[str, Any]

    def write(self, compiled: WholeRecipe, out: Path) -> list[Path]:
        """Write the states of changed steps for ``--compiled``, and return their files.

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
    """Open a recipe with the shipped critics, the original demos and a search index of all labelled chunks.

    Within the block DSPy uses the language model. Failed calls raise, unless an optimizer ignores them.

    ``journal`` is the file of finished calls, which are not repeated. ``labels`` are the user's label files, and
    ``options`` those of the recipe.

    Raises:
        InputError: the recipe is unknown or needs another mode, or the shipped heads have another embedder.
        OptimizerError: a label file is invalid.
        GroundsetError: a model cannot be opened.
    """
    if recipe not in RECIPES:
        raise InputError(f"unknown recipe {recipe}; choose one of {', '.join(RECIPES)}")
    chosen = RECIPES[recipe].options(**options)
    try:
        chosen.in_mode(MODES[Tools.mode])
    except ValueError as error:
        raise InputError(f"a recipe is compiled in mode {Tools.mode}: {error}") from error
    files = label_files(labels, ChunkLabel)
    rows = read_labels(ChunkLabel, files)
    loaded, spec = load_embedder(embedder), ensure_available(parse_spec(lm))
    local = (spec.name, spec.sha256) if isinstance(spec, LocalSpec) else ()
    # Only deciding steps use shipped states; writing steps are compiled from their original demos.
    compiled = load_compiled(SHIPPED, StateConsumers("head", loaded.sha256, *local)).deciding()
    if not compiled.heads:
        raise InputError(f"embedder {embedder}: the shipped critics were fitted with another embedder")
    languages = parsed_languages()
    chunks = [labelled_chunk(row) for row in rows]
    vectors = loaded.encode_corpus([chunk.text for chunk in chunks])
    known = {chunk.text: vector for chunk, vector in zip(chunks, vectors, strict=True)}
    encoder = CachingEncoder(loaded, known)
    index = chunk_index(chunks, vectors, encoder)
    critics = open_critics("head", languages=languages, embedder=encoder, heads=compiled.heads)
    calls = CallFile(journal)
    with (
        open_lm(spec, journal=calls, adapters=compiled.files) as model,
        calls,
        dspy.context(lm=model.lm, max_history_size=0, max_errors=1),
    ):
        tools = Tools(
            critics={**critics, **compiled.finetuned(model.lm)},
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
