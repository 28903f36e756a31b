"""What AWS answers, before a deployment and after one: `make before-deploy` and `make evidence`.

Each answer is held against what docs/verify-on-aws.md expects, by the number of its row, and kept in one file.
"""
