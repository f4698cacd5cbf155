"""Entries: folders with a submission and a card. They are foreign input: read, checked, never executed."""

import json
from dataclasses import dataclass
from pathlib import Path

from evaluation.errors import InputError
from evaluation.files import sha256
from evaluation.tracks import TRACKS

CSV, CARD, SCORES = "submission.csv", "card.json", "scores.parquet"
OWN_FILES = {"README.md", "results.jsonl", "leaderboard.md", "leaderboard.html"}
MAX_CARD = 1 << 20  # bytes
TEXT, NUMBER = (str,), (int, float, type(None))
FIELDS = {"entry": TEXT, "track": TEXT, "dataset": (dict,), "split": TEXT, "model": TEXT, "parameters": (dict,),
          "seed": (int, list, type(None)), "sha256": (str, type(None)), "versions": (dict,),
          "commit": (str, type(None)), "train_seconds": NUMBER, "predict_seconds": NUMBER,
          "fallbacks": (dict, list), "command": (str, type(None)), "created": (str, type(None))}
DATASET_FIELDS = {"name": TEXT, "simulated": (bool,), "fingerprint": TEXT}


@dataclass(frozen=True)
class Entry:
    """One entry as it stands on disk.

    Attributes
    ----------
    folder : Path
    card : dict
    files : dict of str to str
        SHA-256 of each of its files, by name.
    """

    folder: Path
    card: dict
    files: dict

    @property
    def name(self):
        """Folder name: unique, unlike the name in the card."""
        return self.folder.name

    @property
    def key(self):
        """What a result belongs to: folder, track, data set, split."""
        return (self.name, self.card["track"], self.card["dataset"]["fingerprint"], self.card["split"])

    @property
    def remarks(self):
        """What a reader of the board should know about the entry's files."""
        told = self.card["sha256"]
        return [] if not told or told == self.files[CSV] else ["its card was written for another submission.csv"]


def _wrong_fields(record, fields, what):
    missing, extra = sorted(set(fields) - set(record)), sorted(set(record) - set(fields))
    if missing:
        return f"{what} lacks {', '.join(missing)}; the template of the contest has all fields"
    if extra:
        return f"{what} has unknown fields ({', '.join(map(repr, extra))[:200]}); put such things into parameters"
    wrong = [name for name, kinds in fields.items() if not isinstance(record[name], kinds)
             or (isinstance(record[name], bool) and bool not in kinds)]
    return f"{what}: {wrong[0]} is {json.dumps(record[wrong[0]])[:80]}, of the wrong kind" if wrong else None


def read_card(path):
    """The card of an entry.

    Raises
    ------
    InputError
        Where it cannot be read or does not have exactly the fields of a card.
    """
    try:
        if path.stat().st_size > MAX_CARD:
            raise InputError(f"{CARD} is larger than {MAX_CARD >> 20} MiB")
        card = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(card, ensure_ascii=False, allow_nan=False).encode()  # no NaN, no half characters: see results.jsonl
    except FileNotFoundError as error:
        raise InputError(f"there is no {CARD}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{CARD} is not readable as JSON ({error})") from error
    wrong = _wrong_fields(card, FIELDS, CARD) if isinstance(card, dict) else f"{CARD} is no JSON object"
    wrong = wrong or _wrong_fields(card["dataset"], DATASET_FIELDS, f"{CARD}, dataset")
    if not wrong and card["track"] not in TRACKS:
        wrong = f"{CARD} names the track {card['track'][:40]!r}; there are {', '.join(TRACKS)}"
    if wrong:
        raise InputError(wrong)
    return card


def read_entry(folder):
    """One entry.

    Raises
    ------
    InputError
        With the reason why it cannot be scored.
    """
    if not folder.name.isprintable():
        raise InputError("has a name with characters that cannot be printed")
    if folder.is_symlink() or any(file.is_symlink() for file in (folder / CSV, folder / CARD, folder / SCORES)):
        raise InputError("is or holds a symbolic link, which is not followed")
    if not folder.is_dir():
        raise InputError("is a file, not a folder; an entry is a folder with submission.csv and card.json")
    if not any(folder.iterdir()):
        raise InputError("is an empty folder")
    if not (folder / CSV).is_file():
        raise InputError(f"there is no {CSV}")
    card = read_card(folder / CARD)
    return Entry(folder, card, {name: sha256(folder / name) for name in (CSV, CARD, SCORES)
                                if (folder / name).is_file()})


def find(submissions):
    """All entries of a folder of entries.

    Parameters
    ----------
    submissions : str or Path

    Returns
    -------
    entries : list of Entry
        Sorted by name.
    unscored : dict of str to str
        Name -> why it is no entry.

    Raises
    ------
    InputError
        Where there is no such folder.
    """
    if not Path(submissions).is_dir():
        raise InputError(f"{submissions}: no such folder of entries; python -m kit demo makes some")
    entries, unscored = [], {}
    for path in sorted(Path(submissions).iterdir()):
        if path.name.startswith(".") or path.name in OWN_FILES:
            continue
        try:
            entries.append(read_entry(path))
        except (InputError, OSError) as error:
            unscored[path.name.encode("utf-8", "replace").decode()] = str(error)
    return entries, unscored
