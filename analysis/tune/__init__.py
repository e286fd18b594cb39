"""The layer of a model that agrees best with human scores."""
