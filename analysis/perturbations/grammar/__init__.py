"""Changes to the grammar of a text: order, voice, word forms."""
