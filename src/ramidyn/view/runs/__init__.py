"""Pictures, plots and playback of runs."""
