"""Names for phones whose owners give none: two friendly words in the reader's language."""

from __future__ import annotations

from collections.abc import Collection

_ENGLISH_FIRST = [
    "Red",
    "Blue",
    "Green",
    "Golden",
    "Silver",
    "Purple",
    "Orange",
    "Pink",
    "Brave",
    "Calm",
    "Clever",
    "Gentle",
    "Happy",
    "Jolly",
    "Kind",
    "Lucky",
    "Merry",
    "Nimble",
    "Proud",
    "Quick",
    "Quiet",
    "Sunny",
    "Swift",
    "Wise",
]
_ENGLISH_SECOND = [
    "Gecko",
    "Otter",
    "Panda",
    "Tiger",
    "Heron",
    "Dolphin",
    "Turtle",
    "Falcon",
    "Rabbit",
    "Koala",
    "Lemur",
    "Owl",
    "Parrot",
    "Penguin",
    "Robin",
    "Seal",
    "Sparrow",
    "Squirrel",
    "Swan",
    "Whale",
    "Zebra",
    "Badger",
    "Beaver",
    "Camel",
    "Crane",
    "Deer",
    "Fox",
    "Giraffe",
    "Hedgehog",
    "Kiwi",
    "Lynx",
    "Moose",
]
_INDONESIAN_FIRST = [
    "Tokek",
    "Panda",
    "Harimau",
    "Bangau",
    "Penyu",
    "Elang",
    "Kelinci",
    "Koala",
    "Kancil",
    "Merpati",
    "Nuri",
    "Pinguin",
    "Kenari",
    "Rusa",
    "Pipit",
    "Tupai",
    "Angsa",
    "Pesut",
    "Zebra",
    "Gajah",
    "Unta",
    "Jerapah",
    "Landak",
    "Kijang",
    "Cendrawasih",
    "Komodo",
    "Banteng",
    "Walet",
    "Kakatua",
    "Beruang",
    "Jalak",
    "Murai",
]
_INDONESIAN_SECOND = [
    "Merah",
    "Biru",
    "Hijau",
    "Emas",
    "Perak",
    "Ungu",
    "Jingga",
    "Putih",
    "Berani",
    "Tenang",
    "Cerdik",
    "Lembut",
    "Gembira",
    "Riang",
    "Ramah",
    "Mujur",
    "Ceria",
    "Lincah",
    "Gagah",
    "Cepat",
    "Hening",
    "Cerah",
    "Gesit",
    "Bijak",
]
"""In Indonesian the animal comes first. Neither list has an animal whose name is used as an insult."""

_WORDS = {
    "en": (_ENGLISH_FIRST, _ENGLISH_SECOND),
    "id": (_INDONESIAN_FIRST, _INDONESIAN_SECOND),
}

_STEP = 331
"""Coprime to the number of names (24 x 32), so that stepping visits every name once."""


def friendly_name(language: str, *, number: int, taken: Collection[str]) -> str:
    """Return the name for `number`, or the next one that is not in `taken` (casefolded).

    An unsupported language falls back to English.
    """
    first, second = _WORDS.get(language, _WORDS["en"])
    count = len(first) * len(second)
    for step in range(count):
        one, other = divmod((number + step * _STEP) % count, len(second))
        name = f"{first[one]} {second[other]}"
        if name.casefold() not in taken:
            return name
    return f"{first[0]} {second[0]} {len(taken) + 1}"
