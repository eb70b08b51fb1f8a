"""The one kind of exception that a person is shown as a line of text instead of a traceback."""


class UserError(ValueError):
    """Something the user must mend; the first line of its text says what to do."""
