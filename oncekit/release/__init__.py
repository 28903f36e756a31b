"""What a release is made of, and whether it is whole: `make release`, `make release-check`.

    notes.py     a version's section of CHANGELOG.md
    bundle.py    the built template with its layer, in one file that is deployed without a clone; what is missing in it
    check.py     what would be uploaded, as somebody who has nothing else would use it

Run as `python -m oncekit.release`. The version is in pyproject.toml, and nowhere else.
"""
