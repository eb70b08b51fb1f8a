"""The report of a run: `build.build` writes the page, `run.load` reads the folder, `figures` draws."""
