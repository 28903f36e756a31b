"""Once beside an application that is there: the folder once/, and what names it in the application's own files."""
