"""Once on this machine: nothing in here is deployed. docs/repository.md says what each folder is for."""
