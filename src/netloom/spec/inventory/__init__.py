"""The devices of a network: where they are, how they are asked, with which credentials."""
