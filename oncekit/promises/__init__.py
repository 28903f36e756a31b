"""The promises P1 to P7, held against what happened: every write to a record, every start of business logic, every end.

checker.py    all rules together; those that need executions, starts and answers are its own
evidence.py   all that the rules look at, and where it comes from
journal.py    takes down each write and each start; what a broken promise is
writes.py     rules of records and single writes; openings.py of new lives; reasons.py of what business logic decided
owners.py     who owns a lock, in each lane
"""
