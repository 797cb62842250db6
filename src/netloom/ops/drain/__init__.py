"""Taking every switch of a fabric out of use once, in turn: for an upgrade, or to replace it."""
