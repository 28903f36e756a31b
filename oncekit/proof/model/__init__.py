"""Every interleaving of owners and crashes, explored."""
