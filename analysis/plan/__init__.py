"""How many segments, systems and judgments a study needs."""
