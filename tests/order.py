"""The order in which test files are handed out to the processes of a run, one test at a time."""

# These wait or compute long. They come first, and the others fill the gaps.
FIRST = (
    "test_commands.py",
    "test_docs_in_browser.py",
    "test_blocks.py",
    "test_crashes.py",
    "test_races.py",
    "test_rule_machine.py",
    "test_default_policy.py",
    "test_policy_replay.py",
    "test_simulated_job.py",
    "test_schemathesis.py",
    "test_refit.py",
    "test_forecast.py",
    "test_job_forecast.py",
)
# One process sets up once what the whole file uses.
TOGETHER = ("test_docs_in_browser.py", "test_packaging.py", "test_architecture.py")
