"""How well raters agree."""
