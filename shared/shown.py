"""What of a text may be indexed and what may be shown: the whole text is masked first, whatever is cut from it later. Pure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared import analysis, redaction

if TYPE_CHECKING:
    from shared.store.registry import Catalogue


@dataclass(frozen=True, slots=True)
class Shown:
    """A text as readers get it; masks are the half-open spans of its labels."""

    text: str
    masks: tuple[tuple[int, int], ...] = ()

    @property
    def redacted(self) -> int:
        """How many masks it holds."""
        return len(self.masks)


def shown(text: str, catalogue: "Catalogue") -> Shown:
    """The text as it may leave the service under this catalogue."""
    if catalogue.policy == "off" or not text:
        return Shown(text)
    masked = redaction.mask(text, catalogue.secrets)
    return Shown(masked.text, masked.masks)


def indexed(text: str, catalogue: "Catalogue") -> analysis.Document:
    """The text as it is indexed: under `strict` without its secrets, so that neither a hit nor its absence confirms a guess."""
    if catalogue.policy != "strict":
        return analysis.document(text)
    masked = shown(text, catalogue)
    return analysis.document(masked.text, masked.masks)
