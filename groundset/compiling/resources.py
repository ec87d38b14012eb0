"""The resources of strategies: models, labels and critics, opened on first use."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import dspy

from groundset.compiling.labels import gold_files, label_files
from groundset.compiling.options import CompileOptions
from groundset.data_files import data_path
from groundset.engine.compiled import SHIPPED, StateConsumers, load_compiled
from groundset.files import whole_file
from groundset.models.pull import ensure_available
from groundset.models.specs import LocalSpec, parse_spec
from groundset.options import DEFAULT_PARSER
from groundset.retrieval.embedder import load_embedder
from groundset.retrieval.index import ChunkIndex
from groundset.retrieval.stores import open_store
from groundset.runtime.adapter import PlainTextAdapter
from groundset.runtime.lms import LanguageModel, open_lm
from groundset.runtime.parser import load_parser
from groundset.store.calls import CallFile
from optimizers.gold import Decided, GoldRow, licences_of, read_gold
from optimizers.labels import ChunkLabel, QuestionLabel, hashes_of, read_labels
from optimizers.steps import COMPILABLE
from optimizers.steps.base import Judges, Source
from optimizers.steps.examples import Examples, examples_of, passages_of, source_of
from optimizers.strategies.base import Begin, Listener, ShippedCritic, Weights
from programs.critics import open_critics
from programs.critics.states import folder_of
from programs.deciding import decide
from programs.demos import in_language, read_demos
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps import STEPS
from programs.text import plain
from programs.types import Chunk

TEST = 40


def parsed_languages() -> Languages:
    """Return the languages with their syntax."""
    return Languages(LANGUAGES, load_parser(DEFAULT_PARSER))


def chunk_index(chunks: Sequence[Chunk], vectors: Any, encoder: Any) -> ChunkIndex:
    """Build a search index of chunks."""
    return ChunkIndex(chunks, open_store("faiss", [chunk.chunk_id for chunk in chunks], vectors), encoder.encode)


class OpenedResources:
    """The resources of one compile; see :class:`optimizers.strategies.base.Resources`.

    Finished calls are kept in ``calls.sqlite`` in the folder of the states and not repeated. Leaving the block closes
    models and journal.
    """

    def __init__(
        self,
        options: CompileOptions,
        user_labels: Sequence[Path],
        listener: Listener,
        begin: Begin,
        *,
        dev: int | None = None,
        test: int = TEST,
    ) -> None:
        """Store the options; ``user_labels`` are the user's files of labels and gold rows."""
        self._options, self._user_labels = options, user_labels
        self.listener, self.begin = listener, begin
        self.dev, self.test = dev, test
        self.budget, self.seed, self.rows = options.budget, options.seed, options.rows
        self.target_precision, self.verbose, self.embedder = options.target_precision, options.verbose, options.embedder
        self.adapter, self.languages = PlainTextAdapter(), Languages(LANGUAGES)
        self.demos = read_demos(data_path("demos"))
        self._calls = CallFile(options.out / "calls.sqlite")
        self._stack = ExitStack()
        self._examples: dict[str, Examples] = {}

    def __enter__(self) -> Self:
        """Return self; resources are opened on first use."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close models and journal."""
        self._stack.close()

    @cached_property
    def encoder(self) -> Any:
        """Return the embedding model."""
        return load_embedder(self.embedder)

    @cached_property
    def model(self) -> LanguageModel:
        """Return the language model to compile for; the journal is created after it is open."""
        model = self._opened(self._lm)
        self._stack.enter_context(self._calls)
        return model

    @cached_property
    def teacher(self) -> LanguageModel | None:
        """Return the larger model, if any."""
        return self._opened(self._options.teacher) if self._options.teacher else None

    @cached_property
    def weights(self) -> Weights:
        """Return the weights of the language model, pulled if they are missing."""
        spec = ensure_available(parse_spec(self._lm))
        assert isinstance(spec, LocalSpec)  # checked by the options
        return Weights(spec.name, spec.path, spec.sha256)

    @property
    def folder(self) -> Path:
        """Return the folder for states of the language model."""
        return self._options.out / folder_of(parse_spec(self._lm).name)

    def keep(self, file: Path, name: str) -> Path:
        """Copy a file to :attr:`folder`, and return the copy."""
        with whole_file(self.folder / name) as partial:
            shutil.copyfile(file, partial)
        return self.folder / name

    def labels(self, kind: Decided) -> list[Path]:
        """Return the shipped files of labels of a kind and the user's files."""
        return label_files(self._user_labels, kind)

    def gold(self, names: Sequence[str]) -> list[Path]:
        """Return the shipped gold files with these names and the user's files."""
        return [*(data_path("gold", f"{name}.jsonl") for name in names), *self._user_labels]

    def examples(self, step: str) -> Examples:
        """Return the examples of a step, shuffled by the seed."""
        if step not in self._examples:
            self._examples[step] = examples_of(COMPILABLE[step], self._source, seed=self.seed)
        return self._examples[step]

    @property
    def sources(self) -> dict[str, Any]:
        """Return the hashes of the files of examples, and the licences of public rows."""
        return self._annotated[0]

    def shipped_critic(self, step: str, languages: Languages | None = None) -> ShippedCritic:
        """Return the shipped critic of a step.

        Raises:
            InputError: it was fitted with another embedder.
        """
        compiled = load_compiled(SHIPPED, StateConsumers("head", self.encoder.sha256))
        if step not in compiled.states:
            raise InputError(
                f"--embedder {self.embedder}: the shipped critic of {step} was fitted with another embedder"
            )
        critics = open_critics(
            "head", languages=languages or self.languages, embedder=self.encoder, heads=compiled.heads
        )
        predict = STEPS[step].predictor()
        predict.load_state(compiled.predictors[step])
        return ShippedCritic(predict, critics[step], compiled.states[step])

    @cached_property
    def judges(self) -> Judges:
        """Return the shipped critic ``judge``, a search over all labelled passages, and the model's step ``answer``.

        Raises:
            InputError: the shipped critic was fitted with another embedder.
        """
        languages = self._source.languages
        judge, critic, _ = self.shipped_critic("judge", languages)
        predict = STEPS["answer"].predictor(self.demos.get("answer", ()))

        def rank(question: str, passage: str) -> int | None:
            index, ids = self._index
            return index.rank(question, ((ids[passage],),)).rank

        def answer(topic: str, passage: str, question: str) -> str:
            demos = in_language(predict.demos, languages.of(passage).code)
            with dspy.context(lm=self.model.lm, adapter=self.model.adapter):
                return str(predict(demos=demos, topic=topic, passage=passage, question=question).answer)

        return Judges(
            judge=lambda passage, question: decide(judge, critic, passage=passage, question=question),
            rank=rank,
            answer=answer,
            languages=languages,
        )

    @cached_property
    def _index(self) -> tuple[ChunkIndex, dict[str, str]]:
        """Return a search index of all labelled passages, and their ids."""
        texts = list(dict.fromkeys(plain(passage) for passage in passages_of(self._source)))
        self.listener.say(f"Embedding {len(texts):,} labelled passages for search")
        chunks = [
            Chunk(chunk_id=str(n), doc_id="labels", path="", title="", start=0, end=len(text), text=text)
            for n, text in enumerate(texts)
        ]
        return chunk_index(chunks, self.encoder.encode(texts), self.encoder), {
            chunk.text: chunk.chunk_id for chunk in chunks
        }

    @property
    def _source(self) -> Source:
        return self._annotated[1]

    @cached_property
    def _annotated(self) -> tuple[dict[str, Any], Source]:
        """Read all labels and gold rows, and return the record of their files with the source of examples."""
        labels, gold = label_files(self._user_labels), gold_files()
        files = [*labels, *gold]
        sources = {"labels": hashes_of(labels), "gold": hashes_of(gold)}
        rows = read_gold(GoldRow, files)
        texts = {label.id: label.text for label in read_labels(ChunkLabel, files)}
        chunks, questions = read_labels(ChunkLabel, labels), read_labels(QuestionLabel, labels)
        source = source_of(chunks, questions, rows, texts, parsed_languages())
        return sources | {"licences": licences_of(rows)}, source

    @property
    def _lm(self) -> str:
        assert self._options.lm is not None
        return self._options.lm

    def _opened(self, lm: str) -> LanguageModel:
        return self._stack.enter_context(open_lm(lm, journal=self._calls))
