"""HTML for reports and notebooks."""
