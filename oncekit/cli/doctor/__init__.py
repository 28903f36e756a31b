"""What `once doctor` answers on one page: command.py prints it, whole.py and waiting.py have the questions, finding.py
has what an answer is, and asks AWS. It only reads. (`aws cloudformation detect-stack-drift` compares settings.)
"""
